"""Labels: chunks and question-chunk pairs that a person called good or bad, with the reason."""

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, Self, TypeVar, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from optimizers.rows import Problem, first_fault, refuse_problems, valid_rows
from programs.errors import LeakError
from programs.features import KINDS
from programs.reasons import AnswerLabel, ChunkReason, QuestionReason
from programs.text import plain

Split = Literal["train", "dev", "test"]
SPLITS: tuple[Split, ...] = get_args(Split)
_DEV, _TEST = 20, 20  # of a hundred documents whose rows name no split


class LabelledAnswer(BaseModel):
    """An answer to a question, itself called correct, incomplete or unsupported."""

    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True)

    text: str = Field(min_length=1)
    label: AnswerLabel


class _Label(BaseModel):
    """What both kinds of labels have; a key that no kind knows is a fault, for it may be a misspelt one."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(min_length=1)
    document: str = Field(min_length=1)
    label: Literal["good", "bad"]
    explanation: str = ""
    split: Split
    annotation_pass: int = Field(default=1, ge=1)
    language: str = "en"

    @property
    def good(self) -> bool:
        """Return whether the label is good."""
        return self.label == "good"

    @property
    def key(self) -> tuple[str, int]:
        """Return what no other label has: the id within an annotation pass."""
        return self.id, self.annotation_pass

    @property
    def sources(self) -> tuple[str, ...]:
        """Return the document that it comes from."""
        return (self.document,)

    @model_validator(mode="before")
    @classmethod
    def _assign_split(cls, row: Any) -> Any:
        """Put a document whose rows name no split into one by the hash of its name."""
        if isinstance(row, dict) and row.get("split") is None and isinstance(row.get("document"), str):
            return {**row, "split": split_of(row["document"])}
        return row

    @model_validator(mode="after")
    def _reason_fits(self) -> Self:
        reason = getattr(self, "reason", None)
        if (reason == "ok") != self.good:
            raise ValueError(f"label {self.label} does not go with reason {reason}")
        return self


class ChunkLabel(_Label):
    """A chunk called good or bad: ``text`` alone was judged; ``topic`` is its title and headings in one line."""

    text: str = Field(min_length=1)
    reason: ChunkReason
    topic: str = ""

    @property
    def inputs(self) -> dict[str, str]:
        """Return what a critic is asked about: the text, as if it had no title."""
        return {"topic": "", "passage": self.text}


def _check_kind(kind: str) -> str:
    if kind not in KINDS:
        raise ValueError(f"no kind of question is called {kind!r}; there are {', '.join(KINDS)}")
    return kind


class QuestionLabel(_Label):
    """A question called good or bad for its ``passage``; ``origin`` tells who wrote it: a person or a model.

    ``chunk`` is the id of the label of its passage, if that has one. ``kind`` is what the question asks for, where a
    run wrote it and all of its other steps let it pass: what a threshold promises is measured on these.
    """

    question: str = Field(min_length=1)
    passage: str = Field(min_length=1)
    reason: QuestionReason
    topic: str = ""
    answer: LabelledAnswer | None = None
    origin: str = "written"
    chunk: str = ""
    kind: Annotated[str, AfterValidator(_check_kind)] | None = None

    @property
    def inputs(self) -> dict[str, str]:
        """Return what a critic is asked about."""
        return {"passage": self.passage, "question": self.question}


class AnsweredLabel(_Label):
    """An answer to a good question, called good if it is right and complete: ``reason`` says what is wrong."""

    question: str
    passage: str
    text: str
    reason: Literal["ok", "incomplete", "unsupported"]

    @property
    def inputs(self) -> dict[str, str]:
        """Return what a critic is asked about."""
        return {"passage": self.passage, "question": self.question, "answer": self.text}

    @classmethod
    def of(cls, label: QuestionLabel) -> Self | None:
        """Return what a label of a question says of its answer, None if that says nothing."""
        if label.answer is None or not label.good:
            return None
        good = label.answer.label == "correct"
        fields = label.model_dump(include={"id", "document", "split", "annotation_pass", "language", "question"})
        fields |= {"passage": plain(label.passage), "text": label.answer.text, "label": "good" if good else "bad"}
        return cls(**fields, reason="ok" if good else label.answer.label)


Label = ChunkLabel | QuestionLabel
_OneLabel = TypeVar("_OneLabel", ChunkLabel, QuestionLabel)


class Labelled(Protocol):
    """A row that a critic can be fitted to: a label, or a gold row that says what is decided about it."""

    @property
    def id(self) -> str:
        """Return what no other row of its kind has."""
        ...

    @property
    def document(self) -> str:
        """Return the document that it comes from."""
        ...

    @property
    def split(self) -> Split:
        """Return the split of the document."""
        ...

    @property
    def good(self) -> bool:
        """Return whether the decision about it is yes."""
        ...

    @property
    def reason(self) -> str:
        """Return why it is no, "ok" where it is yes."""
        ...

    @property
    def inputs(self) -> dict[str, str]:
        """Return what a critic is asked about."""
        ...


_AnyLabelled = TypeVar("_AnyLabelled", bound=Labelled)


def split_of(document: str) -> Split:
    """Return the split of a document: 60 % train, 20 % dev, 20 % test, by the SHA-256 of its name."""
    place = int.from_bytes(hashlib.sha256(document.encode()).digest()[:4]) % 100
    return "test" if place < _TEST else "dev" if place < _TEST + _DEV else "train"


def read_labels(kind: type[_OneLabel], files: Sequence[Path]) -> list[_OneLabel]:
    """Return the labels of one kind, one for each id: the lowest annotation pass. Other rows are passed over.

    Raises:
        LabelError: a file cannot be read or breaks a rule.
    """
    first: dict[str, _OneLabel] = {}
    for label in read_all(files):
        if isinstance(label, kind):
            known = first.get(label.id)
            if known is None or label.annotation_pass < known.annotation_pass:
                first[label.id] = label
    return list(first.values())


def read_all(files: Sequence[Path]) -> list[Label]:
    """Return the labels of all files and annotation passes, in their order. Gold rows are passed over.

    Raises:
        LabelError: the first problem of the files.
    """
    found: tuple[list[Label], list[Problem]] = valid_rows(files, _label_in)
    labels, problems = found
    refuse_problems(problems)
    return labels


def hashes_of(files: Sequence[Path]) -> list[dict[str, str]]:
    """Return name and SHA-256 of each file, as the record of a compile keeps them."""
    hashes = []
    for file in files:
        with file.open("rb") as stream:
            hashes.append({"file": file.name, "sha256": hashlib.file_digest(stream, "sha256").hexdigest()})
    return hashes


def splits_of(labels: Iterable[_AnyLabelled]) -> dict[Split, list[_AnyLabelled]]:
    """Return the labels of each split."""
    found: dict[Split, list[_AnyLabelled]] = {"train": [], "dev": [], "test": []}
    for label in labels:
        found[label.split].append(label)
    return found


def refuse_test_rows(labels: Iterable[Labelled]) -> None:
    """Raise if labels that are about to be trained on hold a row of the test split.

    Raises:
        LeakError: names the first such row.
    """
    for label in labels:
        if label.split == "test":
            raise LeakError(f"label {label.id} belongs to the test split: it cannot be trained on")


def _label_in(row: dict[str, Any]) -> Label | str | None:
    return None if "step" in row and "label" not in row else parse_label(row)


def parse_label(row: dict[str, Any]) -> Label | str:
    """Return the label of a row, or what is wrong with it."""
    try:
        return QuestionLabel.model_validate(row) if "question" in row else ChunkLabel.model_validate(row)
    except ValidationError as error:
        return first_fault(error)
