"""Gold rows: what a step should write, in the terms of its signature. The row type of a step lies with the step."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from optimizers.labels import Split

Kind = Literal[
    "why", "how", "what_if", "comparison", "purpose", "condition", "amount",
    "place", "time", "person", "definition", "list", "yes_no", "what",
]  # fmt: skip


def _one_question(text: str) -> str:
    if not text.endswith("?") or text.count("?") != 1:
        raise ValueError("a question ends with its only question mark")
    return text


Text = Annotated[str, Field(min_length=1)]
Question = Annotated[str, AfterValidator(_one_question)]


class GoldRow(BaseModel):
    """What every gold row has; a key that its type does not know is a fault, and what its ``_faults`` yields.

    ``licence`` is that of a row which others published; whatever learns from it says so.
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
        """Return what no other row has."""
        return self.id, 1

    @property
    def sources(self) -> tuple[str, ...]:
        """Return the documents that it comes from."""
        raise NotImplementedError

    def passage_in(self, texts: Mapping[str, str]) -> str:
        """Return the passage that a question of the row is searched in, empty where the row shows it itself.

        Args:
            texts: the text of each known chunk by its id.
        """
        del texts
        return ""

    def _faults(self) -> Iterator[str]:
        raise NotImplementedError

    @model_validator(mode="after")
    def _refuse_faults(self) -> Self:
        for fault in self._faults():
            raise ValueError(fault)
        return self


def licences_of(rows: Iterable[object]) -> list[str]:
    """Return the licences of the gold rows among rows that others published, each once."""
    return sorted({row.licence for row in rows if isinstance(row, GoldRow) and row.licence})


class GoldOfOneChunk(GoldRow):
    """What a step should write about one chunk."""

    document: Text
    chunk: Text

    @property
    def sources(self) -> tuple[str, ...]:
        """Return the document."""
        return (self.document,)


class GoldOfSeveralChunks(GoldRow):
    """What a step should write about several chunks."""

    documents: tuple[Text, ...] = Field(min_length=1)
    chunks: tuple[Text, ...] = Field(min_length=1)

    @property
    def sources(self) -> tuple[str, ...]:
        """Return the documents."""
        return self.documents


class ComparedGold(GoldOfOneChunk):
    """Two texts, read: whether they say the same; ``kind`` says how they differ."""

    first: Text
    second: Text
    alike: bool

    @property
    def good(self) -> bool:
        """Return whether the decision about them is yes."""
        return self.alike

    @property
    def inputs(self) -> dict[str, str]:
        """Return what a critic is asked about."""
        return {"first": self.first, "second": self.second}

    @property
    def reason(self) -> str:
        """Return how they differ, "ok" if they do not."""
        return self.kind or "ok"

    def _faults(self) -> Iterator[str]:
        if self.alike != (not self.kind):
            yield "what is alike has no kind of difference, and what is not has one"
        yield from unchanged(self.first, self.second)


def stands_in(words: str, passage: str) -> bool:
    """Return whether a passage holds the words as they are, line breaks aside."""
    return words in " ".join(passage.split())


def not_within(answer: str, fact: str) -> Iterator[str]:
    """Yield the fault of an answer that is not a part of its fact."""
    if answer not in fact:
        yield "the answer does not stand in the fact"
    elif answer == fact:
        yield "the answer is the whole fact"


def given_away(answer: str, question: str) -> Iterator[str]:
    """Yield the fault of a question that holds its answer."""
    # A number of up to three characters may stand in its question by chance.
    if len(answer) > 3 and answer.casefold() in question.casefold():
        yield f"the question holds its answer: {answer}"


def unchanged(question: str, written: str) -> Iterator[str]:
    """Yield the fault of a question that was to be changed and was not."""
    if question.casefold() == written.casefold():
        yield f"nothing was changed: {written}"
