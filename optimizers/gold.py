"""Gold rows: the expected outputs of steps, in the fields of their signatures.

The row type of a step is defined beside the step, in ``optimizers/steps/<step>.py``.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from optimizers.labels import AnsweredLabel, ChunkLabel, Label, Labelled, QuestionLabel, Split, parse_label, read_labels
from optimizers.rows import Problem, first_problem, raise_first, valid_rows

Kind = Literal[
    "why", "how", "what_if", "comparison", "purpose", "condition", "amount",
    "place", "time", "person", "definition", "list", "yes_no", "what",
]  # fmt: skip


def _one_question(text: str) -> str:
    if not text.endswith("?") or text.count("?") != 1:
        raise ValueError("a question must contain one question mark, at its end")
    return text


Text = Annotated[str, Field(min_length=1)]
Question = Annotated[str, AfterValidator(_one_question)]


class GoldRow(BaseModel):
    """The fields of every gold row; unknown keys and the problems that ``_problems`` yields are errors.

    ``licence`` is set on rows from a public data set and copied to everything trained on them.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    step: str
    id: Text
    language: Text
    split: Split
    kind: str = ""
    licence: str = ""

    @property
    def key(self) -> tuple[str, int]:
        """Return the id with annotation pass 1, for comparison with the keys of labels."""
        return self.id, 1

    @property
    def sources(self) -> tuple[str, ...]:
        """Return the source documents."""
        raise NotImplementedError

    def passage_in(self, texts: Mapping[str, str]) -> str:
        """Return the passage to search for a question of the row; empty if the row contains its passage.

        Args:
            texts: the text of each known chunk by its id.
        """
        del texts
        return ""

    def _problems(self) -> Iterator[str]:
        yield from ()

    @model_validator(mode="after")
    def _validate(self) -> Self:
        for problem in self._problems():
            raise ValueError(problem)
        return self


class SingleChunkGold(GoldRow):
    """An expected output about one chunk."""

    document: Text
    chunk: Text

    @property
    def sources(self) -> tuple[str, ...]:
        """Return the document."""
        return (self.document,)


class SearchedChunkGold(SingleChunkGold):
    """An expected output about one chunk; the text of the chunk is the passage to search for."""

    def passage_in(self, texts: Mapping[str, str]) -> str:
        """Return the text of its chunk, empty if that is unknown."""
        return texts.get(self.chunk, "")


class MultiChunkGold(GoldRow):
    """An expected output about several chunks."""

    documents: tuple[Text, ...] = Field(min_length=1)
    chunks: tuple[Text, ...] = Field(min_length=1)

    @property
    def sources(self) -> tuple[str, ...]:
        """Return the documents."""
        return self.documents


class PassagesGold(MultiChunkGold):
    """An expected output about chunks that a prompt shows with their numbers and topics."""

    topics: tuple[str, ...]

    def _problems(self) -> Iterator[str]:
        if len(self.topics) != len(self.chunks):
            yield "topics must have one entry per chunk"


class ComparedGold(SingleChunkGold):
    """Two texts and whether they say the same; ``kind`` is the kind of difference."""

    first: Text
    second: Text
    alike: bool

    @property
    def good(self) -> bool:
        """Return whether the expected decision is yes."""
        return self.alike

    @property
    def inputs(self) -> dict[str, str]:
        """Return the inputs of the critic."""
        return {"first": self.first, "second": self.second}

    @property
    def reason(self) -> str:
        """Return the kind of difference, "ok" if there is none."""
        return self.kind or "ok"

    def _problems(self) -> Iterator[str]:
        if self.alike != (not self.kind):
            yield "kind names the difference: it must be empty if alike is true and set if alike is false"
        yield from unchanged(self.first, self.second)


Decided = type[ChunkLabel] | type[QuestionLabel] | type[AnsweredLabel] | type[ComparedGold]
_Gold = TypeVar("_Gold", bound=GoldRow)


def contains(passage: str, words: str) -> bool:
    """Return whether a passage contains the words verbatim, ignoring line breaks."""
    return words in " ".join(passage.split())


def answer_not_in_fact(answer: str, fact: str) -> Iterator[str]:
    """Yield a problem if the answer is not a part of its fact."""
    if answer not in fact:
        yield "the answer is not in the fact"
    elif answer == fact:
        yield "the answer is the whole fact"


def reveals_answer(question: str, answer: str) -> Iterator[str]:
    """Yield a problem if the question contains its answer."""
    # Numbers of up to three characters may occur in the question by chance.
    if len(answer) > 3 and answer.casefold() in question.casefold():
        yield f"the question contains its answer: {answer}"


def unchanged(question: str, written: str) -> Iterator[str]:
    """Yield a problem if the changed question equals the original."""
    if question.casefold() == written.casefold():
        yield f"nothing was changed: {written}"


def licences_of(rows: Iterable[object]) -> list[str]:
    """Return the distinct licences of the gold rows among ``rows``."""
    return sorted({row.licence for row in rows if isinstance(row, GoldRow) and row.licence})


def read_decided(kind: Decided, files: Sequence[Path]) -> Sequence[Labelled]:
    """Return the rows of files that the critic of a step is fitted to.

    Raises:
        LabelError: a file cannot be read or has an invalid row.
    """
    if kind is ChunkLabel:
        return read_labels(ChunkLabel, files)
    if issubclass(kind, ComparedGold):
        return read_gold(kind, files)
    questions = read_labels(QuestionLabel, files)
    return questions if kind is QuestionLabel else [*filter(None, map(AnsweredLabel.of, questions))]


def read_gold(kind: type[_Gold], files: Sequence[Path]) -> list[_Gold]:
    """Return the gold rows of one kind, in order; other rows are ignored.

    Raises:
        LabelError: a file cannot be read or has an invalid row.
    """
    return [row for row in read_annotated(files) if isinstance(row, kind)]


def read_annotated(files: Sequence[Path]) -> list[Label | GoldRow]:
    """Return the labels and gold rows of all files.

    Raises:
        LabelError: names the first problem.
    """
    result: tuple[list[Label | GoldRow], list[Problem]] = valid_rows(files, _parse)
    rows, problems = result
    raise_first(problems)
    return rows


def check(files: Sequence[Path]) -> list[Problem]:
    """Return all problems of files of labels and gold rows: invalid rows, repeated ids, documents in two splits.

    Raises:
        LabelError: a file cannot be read at all.
    """
    return valid_rows(files, _parse)[1]


def _parse(row: dict[str, Any]) -> Label | GoldRow | str:
    from optimizers.steps import GOLD  # the steps import this module

    if "step" not in row:
        return parse_label(row)
    kind = GOLD.get(str(row["step"]))
    if kind is None:
        return f"step: unknown step {row['step']!r}; steps with gold rows: {', '.join(GOLD)}"
    try:
        return kind.model_validate(row)
    except ValidationError as error:
        return first_problem(error)
