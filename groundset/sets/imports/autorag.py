"""Import AutoRAG's tables, `qa.parquet` and `corpus.parquet`.

All columns are kept: `doc_id` (the id of a chunk), `contents`, `path`, `start_end_idx` and `metadata` of the corpus;
all groups of `retrieval_gt` and all texts of `generation_gt`, the first of which is the answer. As in AutoRAG,
`retrieval_gt` may also be an id or a list of ids, and `generation_gt` a string.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from groundset.parquet import parquet_columns, parquet_rows
from groundset.rows import is_missing, metadata_of, optional, required, span_of
from groundset.sets.imports.base import (
    ForeignChunk,
    ForeignQuestion,
    ForeignSet,
    ImportFormat,
    listed,
    named,
    unanswerable_sources,
)
from programs.errors import InputError

_SUFFIX = ".parquet"
_TIME = "last_modified_datetime"
_EMPTY: Sequence[Any] = ([], [[]])  # the ground truth of questions that no chunk answers
_COLUMNS = ("qid", "query", "retrieval_gt", "generation_gt")


def read_autorag(paths: Sequence[Path]) -> ForeignSet:
    """Read both tables from their folder or as two files.

    Questions without a relevant chunk are left out, unless an export of groundset names the chunks that
    they were made from.
    """
    from groundset.progress import counted

    files = _tables(paths)
    if len(files) != 2:
        raise InputError(
            f"{named(paths)}: autorag is two files, qa.parquet and corpus.parquet; name them or their folder"
        )
    tables = {_kind(file): file for file in files}
    if set(tables) != {"qa", "corpus"}:
        raise InputError(f"{named(files)}: one must have the columns doc_id and contents, the other qid and query")
    chunks = [_chunk(*row) for row in parquet_rows(tables["corpus"])]
    rows = list(parquet_rows(tables["qa"]))
    questions = [question for row in rows if (question := _question(*row))]
    left_out = len(rows) - len(questions)
    notes = [f"Left out {counted(left_out, 'question')} without a relevant chunk."] if left_out else []
    counts = [(tables["qa"], len(questions)), (tables["corpus"], 0)]
    return ForeignSet(chunks, questions, tables["corpus"], counts, notes)


def _tables(paths: Sequence[Path]) -> list[Path]:
    files = [file for file in listed(paths) if file.suffix.lower() == _SUFFIX]
    named_tables = [file for file in files if file.stem in ("qa", "corpus")]
    return named_tables if len(named_tables) == 2 else files  # ignore others such as qa_train.parquet


def _kind(file: Path) -> str:
    """Detect the table in a file by its columns."""
    columns = parquet_columns(file)
    if {"qid", "query"} <= columns:
        return "qa"
    return "corpus" if {"doc_id", "contents"} <= columns else "neither"


def _chunk(where: str, fields: Mapping[str, Any]) -> ForeignChunk:
    metadata = metadata_of(where, fields)
    # None is a valid neighbour, so it is kept.
    neighbours = {name: metadata[name] for name in ("prev_id", "next_id") if name in metadata}
    known = {*neighbours, "document_id", "title", _TIME}
    extra = {name: value for name, value in metadata.items() if name not in known and not is_missing(value)}
    return ForeignChunk(
        where=where,
        chunk_id=required(where, fields, "doc_id"),
        text=required(where, fields, "contents"),
        source=optional(where, metadata, "document_id"),
        path=optional(where, fields, "path"),
        title="" if metadata.get("title") == "" else optional(where, metadata, "title"),
        span=span_of(where, fields),
        modified=_time(where, metadata.get(_TIME)),
        metadata=neighbours | extra,
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


def _question(where: str, fields: Mapping[str, Any]) -> ForeignQuestion | None:
    unanswerable = fields.get("retrieval_gt") in _EMPTY
    sources = unanswerable_sources({"answerable": False, **fields}) if unanswerable else ()
    if unanswerable and not sources:
        return None
    answers = fields.get("generation_gt")
    answers = [answers] if isinstance(answers, str) else [] if is_missing(answers) else answers
    if not isinstance(answers, list) or not all(isinstance(answer, str) for answer in answers):
        raise InputError(f"{where}, column generation_gt: must be a list of strings")
    answers = [answer for answer in answers if answer.strip()]
    columns = (*_COLUMNS, "chunk_ids") if sources else _COLUMNS
    rest = {name: value for name, value in fields.items() if name not in columns and not is_missing(value)}
    extra = metadata_of(where, {"metadata": rest})
    return ForeignQuestion(
        where=where,
        question_id=required(where, fields, "qid"),
        question=required(where, fields, "query"),
        answer=answers[0] if answers else "",
        groups=() if unanswerable else _groups(where, fields.get("retrieval_gt")),
        sources=sources,
        metadata={
            **({"answerable": False} if unanswerable else {}),
            **({"answer_variants": answers[1:]} if len(answers) > 1 else {}),
            **({"imported": extra} if extra else {}),
        },
    )


def _groups(where: str, value: Any) -> tuple[tuple[str, ...], ...]:
    """Parse groups of ids; a single id or a flat list is one group."""
    if isinstance(value, str):
        value = [value]
    if isinstance(value, list) and value and not any(isinstance(group, list) for group in value):
        value = [value]
    groups = value if isinstance(value, list) else []
    if not groups or not all(isinstance(group, list) and group for group in groups):
        raise InputError(f"{where}, column retrieval_gt: must be non-empty lists of chunk ids")
    return tuple(
        tuple(dict.fromkeys(required(where, {"retrieval_gt id": name}, "retrieval_gt id") for name in group))
        for group in groups
    )


def _matches(paths: Sequence[Path]) -> bool:
    return len(_tables(paths)) == 2


IMPORT = ImportFormat("autorag", "qa.parquet and corpus.parquet, or their folder", _matches, read_autorag)
