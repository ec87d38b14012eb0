"""Evaluation sets of other tools as they are read: chunks, questions, and the documents rebuilt from the chunks."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path
from typing import Any

from groundset.out.autorag import OFFSETS, OWN
from groundset.rows import (
    headings_of,
    is_missing,
    jsonl_rows,
    metadata_of,
    optional,
    parquet_rows,
    required,
    span_of,
)
from programs.errors import InputError
from programs.types import Chunk, Document, StepRecord

_SEPARATOR = "\n\n"
_MAX_EXPANSION = 20  # longest text, as a multiple of the length of its chunks; larger offsets are considered wrong
_TIME = "last_modified_datetime"
_QA = ("qid", "query", "retrieval_gt", "generation_gt")
_ROW = ("id", "question", "answer", "contexts", "passage", "evolution", "language", "metadata")
_SAMPLE = (*_ROW, "retrieval_gt", "retrieval", "probability", "trail")


@dataclass(frozen=True, slots=True)
class ForeignChunk:
    """A chunk of an external set; unknown values are None.

    Attributes:
        where: file and row, for messages.
        source: id of the document.
        span: offsets in the document.
        modified: modification time of the document.
        metadata: all other values.
    """

    where: str
    chunk_id: str
    text: str
    source: str | None = None
    path: str | None = None
    title: str | None = None
    headings: tuple[str, ...] = ()
    span: tuple[int, int] | None = None
    modified: datetime | None = None
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ForeignQuestion:
    """A question of an external set; unknown values are None.

    Attributes:
        where: file and row, for messages.
        groups: needed chunks, any one of each group; empty if the question is unanswerable.
        sources: the chunks that the question was made from.
        metadata: all other values.
    """

    where: str
    question_id: str
    question: str
    answer: str
    groups: tuple[tuple[str, ...], ...]
    sources: tuple[str, ...] = ()
    evolution: str = "imported"
    language: str | None = None
    probability: float | None = None
    trail: tuple[StepRecord, ...] = ()
    metadata: dict[str, Any] = field(default_factory=dict)


ForeignSet = tuple[list[ForeignChunk], list[ForeignQuestion]]


def read_autorag(files: Sequence[Path]) -> ForeignSet:
    """Read AutoRAG's tables, `qa.parquet` and `corpus.parquet`, named or in a folder.

    As in AutoRAG, ``retrieval_gt`` may also be an id or a list of ids, and ``generation_gt`` a text. The first of
    several answers is the answer. Questions without a relevant chunk are left out, unless an export of groundset names
    the chunks that they were made from.

    Raises:
        InputError: a table is missing, or a row is wrong; the message names it.
        OSError: a file cannot be read.
    """
    tables = [file for path in files for file in (sorted(path.glob("*.parquet")) if path.is_dir() else [path])]
    named = {file.stem: file for file in tables if file.stem in ("qa", "corpus")}
    if set(named) != {"qa", "corpus"} or (len(tables) > 2 and not all(path.is_dir() for path in files)):
        raise InputError(f"{', '.join(map(str, files))}: autorag is two files, qa.parquet and corpus.parquet; name both")
    chunks = [_autorag_chunk(*row) for row in parquet_rows(named["corpus"])]
    return chunks, [question for row in parquet_rows(named["qa"]) if (question := _autorag_question(*row))]


def _autorag_chunk(where: str, fields: Mapping[str, Any]) -> ForeignChunk:
    metadata = metadata_of(where, fields)
    return ForeignChunk(
        where=where,
        chunk_id=required(where, fields, "doc_id"),
        text=required(where, fields, "contents"),
        source=optional(where, metadata, "document_id"),
        path=optional(where, fields, "path"),
        title="" if metadata.get("title") == "" else optional(where, metadata, "title"),
        span=span_of(where, fields),
        modified=_time(where, metadata.get(_TIME)),
        metadata={name: value for name, value in metadata.items() if name not in OWN and value is not None},
    )


def _time(where: str, value: Any) -> datetime | None:
    """Parse an ISO 8601 time; AutoRAG's times are naive UTC."""
    if value in (None, "", "NaT"):
        return None
    try:
        time = datetime.fromisoformat(value)
    except (TypeError, ValueError) as error:
        raise InputError(f"{where}, column metadata: {_TIME} must be an ISO 8601 date and time") from error
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _autorag_question(where: str, fields: Mapping[str, Any]) -> ForeignQuestion | None:
    groups = _groups(where, fields.get("retrieval_gt"))
    sources = tuple(map(str, fields.get("chunk_ids") or ())) if not groups else ()
    if not groups and not sources:
        return None
    given = fields.get("generation_gt")
    answers = [given] if isinstance(given, str) else [] if is_missing(given) else given
    if not isinstance(answers, list) or not all(isinstance(answer, str) for answer in answers):
        raise InputError(f"{where}, column generation_gt: must be a list of texts")
    answers = [answer for answer in answers if answer.strip()]
    more = _others(where, fields, (*_QA, "chunk_ids") if sources else _QA)
    return ForeignQuestion(
        where=where,
        question_id=required(where, fields, "qid"),
        question=required(where, fields, "query"),
        answer=answers[0] if answers else "",
        groups=groups,
        sources=sources,
        metadata=more | ({"answer_variants": answers[1:]} if len(answers) > 1 else {}),
    )


def _groups(where: str, value: Any) -> tuple[tuple[str, ...], ...]:
    """Parse groups of ids; a single id or a flat list is one group, and ``[]`` or ``[[]]`` is none."""
    value = [value] if isinstance(value, str) else value
    if isinstance(value, list) and value and not any(isinstance(group, list) for group in value):
        value = [value]
    if value in ([], [[]]):
        return ()
    if not isinstance(value, list) or not all(isinstance(group, list) and group for group in value):
        raise InputError(f"{where}, column retrieval_gt: must be lists of chunk ids")
    return tuple(
        tuple(dict.fromkeys(required(where, {"retrieval_gt id": name}, "retrieval_gt id") for name in group))
        for group in value
    )


def read_jsonl(files: Sequence[Path]) -> ForeignSet:
    """Read `samples.jsonl` of a run, or rows with `question`, `answer` and `contexts` (or one text as `passage`).

    `contexts` holds texts, or objects with `text` and optionally `chunk_id`, `doc_id`, `path`, `title`, `headings`,
    `start`, `end` and `metadata`. The distinct contexts are the corpus. Samples of a run keep their ids, kinds, trails
    and probabilities.

    Raises:
        InputError: a row is wrong; the message names file and line.
        OSError: a file cannot be read.
    """
    chunks: dict[str, ForeignChunk] = {}
    questions = []
    for where, fields in (row for file in files for row in jsonl_rows(file)):
        contexts = fields.get("contexts", fields.get("passage"))
        contexts = [contexts] if isinstance(contexts, str) else contexts
        if not isinstance(contexts, list) or not contexts:
            raise InputError(f"{where}, column contexts: must be a list of texts, or of objects with `text`")
        found = [_context(f"{where}, contexts", {"text": each} if isinstance(each, str) else each) for each in contexts]
        for chunk in found:
            first = chunks.setdefault(chunk.chunk_id, chunk)
            if first.text != chunk.text:
                raise InputError(f"{chunk.where}: chunk {chunk.chunk_id} has another text than in {first.where}")
        questions.append(_question(where, fields, [chunk.chunk_id for chunk in found]))
    return list(chunks.values()), [_within(question, chunks) for question in questions]


def _context(where: str, context: Any) -> ForeignChunk:
    if not isinstance(context, dict):
        raise InputError(f"{where}: must be texts, or objects with `text`")
    text = required(where, context, "text")
    return ForeignChunk(
        where=where,
        chunk_id=optional(where, context, "chunk_id") or _digest(text),
        text=text,
        source=optional(where, context, "doc_id"),
        path=optional(where, context, "path"),
        title=optional(where, context, "title"),
        headings=headings_of(where, context),
        span=span_of(where, context),
        metadata=metadata_of(where, context),
    )
