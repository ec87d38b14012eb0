"""Annotated rows: labels (is a chunk or a question good, and why not) and gold rows (what a step
should write).

A file has one JSON object in each line. Rows with ``step`` are gold rows, others are labels.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from groundset.programs.errors import InputError, LabelError
from groundset.programs.untrusted import first_fault, json_of, numbered_lines
from groundset.programs.users import WANTED

Split = Literal["train", "dev", "test"]
SPLITS: tuple[Split, ...] = get_args(Split)
ChunkReason = Literal["ok", "citation", "metadata", "boilerplate", "not_self_contained", "too_thin"]
QuestionReason = Literal[
    "ok",
    "context_reference",
    "vague",
    "unanswerable",
    "wrong_premise",
    "malformed",
    "conjoined",
    "gives_away",
]
# The output of a judge that a reason makes false.
FAULTS: Mapping[str, str] = {
    "context_reference": "independent",
    "vague": "independent",
    "malformed": "clear",
    "conjoined": "clear",
    "gives_away": "clear",
    "unanswerable": "answerable",
    "wrong_premise": "answerable",
    "citation": "content",
    "metadata": "content",
    "boilerplate": "content",
    "too_thin": "content",
    "not_self_contained": "self_contained",
}
NOT_STATED = "not stated"
_DEV, _TEST = 20, 20  # percent of the documents whose rows have no split
_CHANCE = 3  # characters; a question may contain so short an answer by chance
_OWN_WORDS = ("yes_no", "not_stated")  # kinds of answers that no passage has word for word
_NAMING = ("yes_no", "comparison")  # kinds of questions that may contain their answer
_DECISIONS = {"alike", "fits", "approved", "sound"}
_STATED = {  # what must stand word for word where
    "answer": ("answer", "passage"),
    "ask": ("evidence", "passage"),
    "follow_up": ("evidence", "passage"),
    "keyphrases": ("keyphrases", "passage"),
    "question": ("answer", "fact"),
    "rewrite": ("answer", "fact"),
}
# Steps whose questions must not contain their answer.
_HIDING = ("ask", "ask_profiled", "put", "question", "reword")

Text = Annotated[str, Field(min_length=1)]
Texts = tuple[Text, ...]


class Row(BaseModel):
    """What labels and gold rows have in common; unknown keys are errors, because they may be
    misspelt.

    ``split`` may be left out: it is then that of other rows about its document, else
    :func:`split_of` the document. ``licence`` is set on rows from a public data set.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Text
    document: str = ""
    documents: Texts = ()
    chunk: str = ""
    chunks: Texts = ()
    split: Split | None = None
    language: Text = "en"
    licence: str = ""
    annotation_pass: int = Field(default=1, ge=1)

    @property
    def sources(self) -> Texts:
        """Return the documents that the row is about."""
        return self.documents or ((self.document,) if self.document else ())


class Label(Row):
    """What both kinds of labels have in common."""

    label: Literal["good", "bad"]
    reason: str
    topic: str = ""
    explanation: str = ""

    @property
    def good(self) -> bool:
        """Return whether the label is good."""
        return self.label == "good"


class ChunkLabel(Label):
    """A labelled chunk: only ``text`` was judged; ``topic`` is title and headings in one line."""

    text: Text
    reason: ChunkReason


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

    question: Text
    passage: Text
    reason: QuestionReason
    answer: LabelledAnswer | None = None
    origin: str = "written"
    kind: str = ""


class GoldRow(Row):
    """What a step should write; its further fields are those of its step in :data:`GOLD`."""

    step: str


# The fields of gold rows by step: `name` is a text, `name?` one that may be empty or missing,
# `name*` several texts, `name!` true or false, `name{}` any JSON.
GOLD: Mapping[str, str] = {
    "agree": "question first second alike! kind?",
    "answer": "topic? passage question answer kind",
    "ask": "topic? before? passage question answer evidence answers kind",
    "ask_profiled": "topics* clue profile question options* answer evidence",
    "clues": "topic? clue example description",
    "compress": "question short_question",
    "conditional": "topic? facts* question condition answer conditional_question",
    "distil": "topics* question needed* missing?",
    "fits": "topics* profile question answer fits! explanation? kind?",
    "follow_up": (
        "topic? passage question answer follow_up stand_alone_question new_answer evidence answers"
    ),
    "keyphrases": "topic? passage keyphrases*",
    "multi_context": "topic? facts* gives* compare? answer question kind",
    "panel": "passage question answer viewpoint opinions? approved! kind?",
    "premise": "first second alike! kind?",
    "profiles": "topics* dimensions{} question profiles{}",
    "put": "topic? question answer wording situation message",
    "question": "topic? before? fact answer question kind reply?",
    "reasoning": "topic? facts* name question answer derived! reasoning_question kind",
    "relevance": "topic? question relevant! explanation",
    "resolve": "first second alike! kind?",
    "reword": "topic? question answer wording kind persona?",
    "rewrite": "topic? before? fact answer question feedback better_question kind",
    "same": "first second alike! kind?",
    "sound": "topic? before? fact answer question sound! kind?",
    "split": "question questions*",
    "unanswerable": "topic? passage answered_question missing question",
}
_TYPES: Mapping[str, Any] = {
    "": (Text, ...),
    "?": (str, ""),
    "*": (Texts, ()),
    "!": (bool, ...),
    "{}": (Any, ...),
}
_FIELD = re.compile(r"(\w+)(\W*)(?: |$)")


def split_of(document: str) -> Split:
    """Return the split of a document by its name's SHA-256: 60 % train, 20 % dev, 20 % test."""
    bucket = int.from_bytes(hashlib.sha256(document.encode()).digest()[:4]) % 100
    return "test" if bucket < _TEST else "dev" if bucket < _TEST + _DEV else "train"


def read_rows(files: Sequence[Path]) -> list[Row]:
    """Return the labels and gold rows of files, in order and all with a split; of a label, the
    first annotation pass.

    Raises:
        LabelError: a file cannot be read, or a row is wrong; the message names the first problem.
    """
    rows, problems = checked(files)
    if problems:
        more = (
            f"; `groundset labels check` lists all {len(problems)} problems"
            if len(problems) > 1
            else ""
        )
        raise LabelError(f"{problems[0]}{more}")
    first: dict[str, Row] = {}
    for row in rows:
        if row.id not in first or row.annotation_pass < first[row.id].annotation_pass:
            first[row.id] = row
    return list(first.values())


def checked(files: Sequence[Path]) -> tuple[list[Row], list[str]]:
    """Return the valid rows of files, and a line for each problem of the others.

    Raises:
        LabelError: a file cannot be read at all.
    """
    problems: list[str] = []
    found: list[tuple[Path, int, Row]] = []
    seen: dict[tuple[str, int], str] = {}
    for file in files:
        empty = True
        for line, value in _json_lines(file, problems):
            empty = False
            row = _parsed(value)
            if isinstance(row, str):
                problems.append(f"{file}, line {line}: {row}")
            elif (key := (row.id, row.annotation_pass)) in seen:
                problems.append(f"{file}, line {line}: id {row.id} is already used in {seen[key]}")
            else:
                seen[key] = f"{file.name}, line {line}"
                found.append((file, line, row))
        if empty:
            problems.append(f"{file}: no rows")
    splits: dict[str, Split] = {}
    for _, _, row in found:
        if row.split:
            splits = {**dict.fromkeys(row.sources, row.split), **splits}
    rows = []
    for file, line, row in found:
        split = row.split or next(
            (splits[source] for source in row.sources if source in splits), None
        )
        split = split or split_of(row.sources[0])
        if leaks := [source for source in row.sources if splits.setdefault(source, split) != split]:
            both = f"{splits[leaks[0]]} and {split}"
            problems.append(f"{file}, line {line}: document {leaks[0]} is in two splits: {both}")
        else:
            rows.append(row if row.split else row.model_copy(update={"split": split}))
    return rows, problems


def _json_lines(file: Path, problems: list[str]) -> Iterator[tuple[int, Any]]:
    for number, line in numbered_lines(file, LabelError):
        if line.strip():
            try:
                yield number, json_of(f"{file}, line {number}", line)
            except InputError as error:
                problems.append(str(error))


def _parsed(value: Any) -> Row | str:
    """Return the row of a JSON value, or what is wrong with it."""
    if not isinstance(value, dict):
        return "not a JSON object"
    kind: type[Row] = QuestionLabel if "question" in value else ChunkLabel
    if "step" in value and "label" not in value:
        if value["step"] not in GOLD:
            return f"step: unknown step {value['step']!r}; steps with gold rows: {', '.join(GOLD)}"
        kind = _gold_type(value["step"])
    try:
        row = kind.model_validate(value)
    except ValidationError as error:
        return first_fault(error)
    if not row.sources:
        return "document: name the document that the row is about"
    return next(_problems(row), None) or row


@cache
def _gold_type(step: str) -> type[GoldRow]:
    fields = {name: _TYPES[mark] for name, mark in _FIELD.findall(GOLD[step])}
    made: type[GoldRow] = create_model(f"{step}_gold", __base__=GoldRow, **fields)
    return made


def _problems(row: Any) -> Iterator[str]:
    """Yield what is wrong with a row whose fields have the right types."""
    if isinstance(row, Label):
        if (row.reason == "ok") != row.good:
            yield f"label {row.label} conflicts with reason {row.reason}"
        return
    fields = row.model_dump()
    kind = fields.get("kind", "")
    for name in _DECISIONS & fields.keys():
        if "kind" in fields and fields[name] != (not kind):
            yield (
                "kind says what is wrong:"
                f" it must be empty if {name} is true and set if it is false"
            )
    pairs = [
        ("question", name) for name in fields if name.endswith(("_question", "wording", "message"))
    ]
    for one, other in (*pairs, ("first", "second")):
        if one in fields and fields[one].casefold() == fields[other].casefold():
            yield f"{other}: nothing was changed: {fields[other]}"
    for name in {"topics", "gives"} & fields.keys():
        if len(fields[name]) != len(row.chunks):
            yield f"{name} must have one entry for each of chunks"
    yield from (
        f"needed: {chunk} is not among chunks"
        for chunk in fields.get("needed", ())
        if chunk not in row.chunks
    )
    if row.step == "put" and len(WANTED.findall(row.wording)) != 2:
        yield 'wording: say "about 20 words" and "4 in 10 …", as prompts of reword do'
    stated, place = _STATED.get(row.step, ("", ""))
    for words in () if not stated or kind in _OWN_WORDS else _several(fields[stated]):
        if words not in fields[place] and words not in " ".join(fields[place].split()):
            yield f"{stated} is not in the {place}: {words}"
    asked = fields.get("message") or fields.get("wording") or fields.get("question", "")
    hidden = row.answer if row.step in _HIDING and kind not in _NAMING else ""
    if len(hidden) > _CHANCE and hidden.casefold() in asked.casefold():
        yield f"the question contains its answer: {hidden}"


def _several(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else value
