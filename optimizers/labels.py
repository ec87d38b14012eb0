"""Labels: chunks and question-chunk pairs annotated as good or bad, with the reason."""

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, Self, TypeVar, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from optimizers.rows import Problem, first_problem, raise_first, valid_rows
from programs.errors import LeakError
from programs.features import KINDS
from programs.reasons import AnswerLabel, ChunkReason, QuestionReason
from programs.text import plain

Split = Literal["train", "dev", "test"]
SPLITS: tuple[Split, ...] = get_args(Split)
_DEV, _TEST = 20, 20  # percent of the documents whose rows have no split


class LabelledAnswer(BaseModel):
    """An answer annotated as correct, incomplete or unsupported."""

    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True)

    text: str = Field(min_length=1)
    label: AnswerLabel


class _Label(BaseModel):
    """The fields of both kinds of labels; unknown keys are errors, because they may be misspelt."""

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
        """Return the unique key: the id within an annotation pass."""
        return self.id, self.annotation_pass

    @property
    def sources(self) -> tuple[str, ...]:
        """Return the source document."""
        return (self.document,)

    @model_validator(mode="before")
    @classmethod
    def _assign_split(cls, row: Any) -> Any:
        """Assign a missing split by the hash of the document's name."""
        if isinstance(row, dict) and row.get("split") is None and isinstance(row.get("document"), str):
            return {**row, "split": split_of(row["document"])}
        return row

    @model_validator(mode="after")
    def _check_reason(self) -> Self:
        reason = getattr(self, "reason", None)
        if (reason == "ok") != self.good:
            raise ValueError(f"label {self.label} conflicts with reason {reason}")
        return self


class ChunkLabel(_Label):
    """A labelled chunk: only ``text`` was judged; ``topic`` is its title and headings in one line."""

    text: str = Field(min_length=1)
    reason: ChunkReason
    topic: str = ""

    @property
    def inputs(self) -> dict[str, str]:
        """Return the inputs of the critic: the text without its title."""
        return {"topic": "", "passage": self.text}


def _check_kind(kind: str) -> str:
    if kind not in KINDS:
        raise ValueError(f"unknown kind of question {kind!r}; choose one of {', '.join(KINDS)}")
    return kind


class QuestionLabel(_Label):
    """A labelled question about its ``passage``; ``origin`` names the model that wrote it, or "written" for a person.

    ``chunk`` is the id of the label of its passage, if any. ``kind`` is the question kind; it is set only for questions
    that a run generated and all its other steps accepted. The precision of a threshold is measured on these.
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
        """Return the inputs of the critic."""
        return {"passage": self.passage, "question": self.question}


class AnsweredLabel(_Label):
    """An answer to a good question; it is good if it is correct and complete."""

    question: str
    passage: str
    text: str
    reason: Literal["ok", "incomplete", "unsupported"]

    @property
    def inputs(self) -> dict[str, str]:
        """Return the inputs of the critic."""
        return {"passage": self.passage, "question": self.question, "answer": self.text}

    @classmethod
    def of(cls, label: QuestionLabel) -> Self | None:
        """Build the label of a question's answer; None if the answer is not labelled or the question is bad."""
        if label.answer is None or not label.good:
            return None
        good = label.answer.label == "correct"
        fields = label.model_dump(include={"id", "document", "split", "annotation_pass", "language", "question"})
        fields |= {"passage": plain(label.passage), "text": label.answer.text, "label": "good" if good else "bad"}
        return cls(**fields, reason="ok" if good else label.answer.label)


Label = ChunkLabel | QuestionLabel
_OneLabel = TypeVar("_OneLabel", ChunkLabel, QuestionLabel)


class Labelled(Protocol):
    """A row that a critic can be fitted to: a label, or a gold row of a step that decides."""

    @property
    def id(self) -> str:
        """Return the unique id of the row."""
        ...

    @property
    def document(self) -> str:
        """Return the source document."""
        ...

    @property
    def split(self) -> Split:
        """Return the split of the document."""
        ...

    @property
    def good(self) -> bool:
        """Return whether the expected decision is yes."""
        ...

    @property
    def reason(self) -> str:
        """Return the reason for a no, "ok" for a yes."""
        ...

    @property
    def inputs(self) -> dict[str, str]:
        """Return the inputs of the critic."""
        ...


_AnyLabelled = TypeVar("_AnyLabelled", bound=Labelled)


def split_of(document: str) -> Split:
    """Return the split of a document: 60 % train, 20 % dev, 20 % test, by the SHA-256 of its name."""
    bucket = int.from_bytes(hashlib.sha256(document.encode()).digest()[:4]) % 100
    return "test" if bucket < _TEST else "dev" if bucket < _TEST + _DEV else "train"


def read_labels(kind: type[_OneLabel], files: Sequence[Path]) -> list[_OneLabel]:
    """Return the labels of one kind, for each id the one of the lowest annotation pass; other rows are ignored.

    Raises:
        LabelError: a file cannot be read or has an invalid row.
    """
    first: dict[str, _OneLabel] = {}
    for label in read_all(files):
        if isinstance(label, kind):
            known = first.get(label.id)
            if known is None or label.annotation_pass < known.annotation_pass:
                first[label.id] = label
    return list(first.values())


def read_all(files: Sequence[Path]) -> list[Label]:
    """Return the labels of all files and annotation passes, in order; gold rows are ignored.

    Raises:
        LabelError: names the first problem.
    """
    result: tuple[list[Label], list[Problem]] = valid_rows(files, _parse)
    labels, problems = result
    raise_first(problems)
    return labels


def hashes_of(files: Sequence[Path]) -> list[dict[str, str]]:
    """Return the name and SHA-256 of each file, for the record of a compile."""
    hashes = []
    for file in files:
        with file.open("rb") as stream:
            hashes.append({"file": file.name, "sha256": hashlib.file_digest(stream, "sha256").hexdigest()})
    return hashes


def splits_of(labels: Iterable[_AnyLabelled]) -> dict[Split, list[_AnyLabelled]]:
    """Return the labels of each split."""
    by_split: dict[Split, list[_AnyLabelled]] = {"train": [], "dev": [], "test": []}
    for label in labels:
        by_split[label.split].append(label)
    return by_split


def refuse_test_rows(labels: Iterable[Labelled]) -> None:
    """Raise an error if training labels contain a row of the test split.

    Raises:
        LeakError: names the first such row.
    """
    for label in labels:
        if label.split == "test":
            raise LeakError(f"label {label.id} is in the test split; train on rows of train and dev only")


def _parse(row: dict[str, Any]) -> Label | str | None:
    return None if "step" in row and "label" not in row else parse_label(row)


def parse_label(row: dict[str, Any]) -> Label | str:
    """Return the label of a row, or an error message."""
    try:
        return QuestionLabel.model_validate(row) if "question" in row else ChunkLabel.model_validate(row)
    except ValidationError as error:
        return first_problem(error)
