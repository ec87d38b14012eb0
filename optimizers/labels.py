"""Annotated rows: labels (is a chunk or a question good, and why not) and gold rows (what a step
should write).

A file has one JSON object in each line. Rows with ``step`` are gold rows and have the fields of its
signature; others are labels.
"""

import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model, model_validator

from groundset.programs.errors import InputError, LabelError
from groundset.programs.untrusted import first_fault, json_of, numbered_lines

Split = Literal["train", "dev", "test"]
SPLITS: tuple[Split, ...] = get_args(Split)
ROWS = 60  # of each split, that are taken by default
NOT_STATED = "not stated"
_DEV, _TEST = 20, 20  # percent of the documents whose rows have no split

Text = Annotated[str, Field(min_length=1)]
Texts = tuple[Text, ...]


class Reason(NamedTuple):
    """The output of a judge that a reason makes false, and what it says without an explanation."""

    fault: str
    said: str


class Row(BaseModel):
    """What labels and gold rows have in common; unknown keys are errors, because they may be
    misspelt.

    ``split`` may be left out: it is then that of other rows about its document, else
    :func:`split_of` the document.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Text
    document: str = ""
    documents: Texts = ()
    split: Split | None = None
    language: Text = "en"
    annotation_pass: int = 1

    @property
    def sources(self) -> Texts:
        """Return the documents that the row is about."""
        return self.documents or (self.document,)

    @property
    def key(self) -> tuple[str, str]:
        """Return what tells rows apart: an id is used once in the rows of a step."""
        return getattr(self, "step", ""), self.id

    @model_validator(mode="after")
    def _has_document(self) -> Self:
        if not all(self.sources):
            raise ValueError("document: name the document that the row is about")
        return self


class Label(Row):
    """What both kinds of labels have in common."""

    REASONS: ClassVar[Mapping[str, Reason]]

    label: Literal["good", "bad"]
    reason: str
    chunk: str = ""
    topic: str = ""
    explanation: str = ""

    @property
    def good(self) -> bool:
        """Return whether the label is good."""
        return self.label == "good"

    @property
    def why(self) -> Reason:
        """Return what its reason means."""
        return self.REASONS[self.reason]

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.reason not in self.REASONS:
            raise ValueError(f"reason {self.reason}: choose one of {', '.join(self.REASONS)}")
        if (self.reason == "ok") != self.good:
            raise ValueError(f"label {self.label} conflicts with reason {self.reason}")
        return self


class ChunkLabel(Label):
    """A labelled chunk: only ``text`` was judged; ``topic`` is title and headings in one line."""

    REASONS = {
        "ok": Reason("", "It names what it speaks of, and says something about it."),
        "citation": Reason("content", "There are only references."),
        "metadata": Reason("content", "There is only data about the document."),
        "boilerplate": Reason("content", "It is what every page has."),
        "too_thin": Reason("content", "It says too little."),
        "not_self_contained": Reason("self_contained", "Nobody can tell what it is about."),
    }

    text: Text


class LabelledAnswer(BaseModel):
    """An answer annotated as correct, incomplete or unsupported."""

    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True)

    text: Text
    label: Literal["correct", "incomplete", "unsupported"]


class QuestionLabel(Label):
    """A labelled question about its ``passage``; ``origin`` names the model that wrote it, or
    "written" for a person.

    ``kind`` says what it asks for; it is set only for questions that a run generated and all its
    other steps accepted.
    """

    REASONS = {
        "ok": Reason("", "No fault."),
        "context_reference": Reason("independent", "It points at the passage."),
        "vague": Reason("independent", "A word in it says nothing without the passage."),
        "unanswerable": Reason("answerable", "The passage does not say it."),
        "wrong_premise": Reason("answerable", "The passage does not state what it presupposes."),
        "malformed": Reason("clear", "It is not well formed."),
        "conjoined": Reason("clear", "It asks two things."),
        "gives_away": Reason("clear", "It holds its own answer."),
        "other": Reason("clear", "An editor refused it."),
    }

    question: Text
    passage: Text
    answer: LabelledAnswer | None = None
    origin: str = "written"
    kind: str = ""


class GoldRow(Row):
    """What a step should write: beside these fields, those of its signature.

    Rows of a ``group`` take turns with those of others; ``style`` is that of a change, and
    ``passage`` what a question is judged by, where its step does not see it.
    """

    step: str
    group: str = ""
    style: str = ""
    passage: str = ""


def split_of(document: str) -> Split:
    """Return the split of a document by its name's SHA-256: 60 % train, 20 % dev, 20 % test."""
    bucket = int.from_bytes(hashlib.sha256(document.encode()).digest()[:4]) % 100
    return "test" if bucket < _TEST else "dev" if bucket < _TEST + _DEV else "train"


def read_rows(files: Sequence[Path]) -> list[Row]:
    """Return the labels and gold rows of files, in order and all with a split.

    Raises:
        LabelError: a file cannot be read, or a row is wrong; the message names the first problem.
    """
    rows, problems = checked(files)
    if problems:
        more = f"; `groundset labels check` lists all {len(problems)} problems"
        raise LabelError(problems[0] + (more if len(problems) > 1 else ""))
    return rows


def checked(files: Sequence[Path]) -> tuple[list[Row], list[str]]:
    """Return the valid rows of files, and a line for each problem of the others.

    Raises:
        LabelError: a file cannot be read at all.
    """
    problems: list[str] = []
    found: dict[Any, tuple[str, Row]] = {}
    for file in files:
        lines = [each for each in numbered_lines(file, LabelError) if each[1].strip()]
        for number, line in lines:
            where = f"{file}, line {number}"
            try:
                row = _parsed(json_of(where, line), where)
            except InputError as error:
                problems.append(str(error))
                continue
            known, _ = found.setdefault(row.key, (where, row))
            if known != where:
                problems.append(f"{where}: id {row.id} is already used in {known}")
        if not lines:
            problems.append(f"{file}: no rows")
    splits: dict[str, Split] = {}
    for _, row in reversed(found.values()):  # the first that tells counts
        if row.split:
            splits |= dict.fromkeys(row.sources, row.split)
    rows = []
    for where, row in found.values():
        known_split = next((splits[name] for name in row.sources if name in splits), None)
        split = row.split or known_split or split_of(row.sources[0])
        leaks = [name for name in row.sources if splits.setdefault(name, split) != split]
        if leaks:
            both = f"{splits[leaks[0]]} and {split}"
            problems.append(f"{where}: document {leaks[0]} is in two splits: {both}")
        else:
            rows.append(row if row.split else row.model_copy(update={"split": split}))
    return rows, problems


def _parsed(value: Any, where: str) -> Row:
    if not isinstance(value, dict):
        raise LabelError(f"{where}: not a JSON object")
    kind: type[Row] = QuestionLabel if "question" in value else ChunkLabel
    if "step" in value:
        name, known = str(value["step"]), _gold_rows()
        if name not in known:
            raise LabelError(f"{where}: step {name}: choose one of {', '.join(known)}")
        kind = known[name]
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        raise LabelError(f"{where}: {first_fault(error)}") from error


@cache
def _gold_rows() -> Mapping[str, type[GoldRow]]:
    """Return the rows of each step: what it is given and decides is needed, what it writes not."""
    from groundset.programs.step import STEPS  # with DSPy

    kinds = {}
    for step, (signature, *_) in STEPS.items():
        fields: dict[str, Any] = {
            name: (field.annotation, field.get_default() if needed else None)
            for name, field in signature.fields.items()
            if name not in Row.model_fields
            for needed in [name in signature.input_fields or field.annotation is bool]
        }
        kinds[step] = create_model(f"{step}_gold", __base__=GoldRow, **fields)
    return kinds
