"""AutoRAG's two tables, `qa.parquet` and `corpus.parquet`, ours or anybody's.

Of the corpus `doc_id` (which names a chunk), `contents`, `path`, `start_end_idx` and all of `metadata` are kept, of the
questions every group of `retrieval_gt` and every text of `generation_gt`: the first one is the answer. As in AutoRAG,
`retrieval_gt` may be an id or a list of ids, `generation_gt` a text.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from groundset.parquet import parquet_columns, parquet_rows
from groundset.rows import is_missing, metadata_of, optional, required, span_of
from groundset.sets.imports.base import ForeignChunk, ForeignQuestion, ForeignSet, ImportFormat, listed, named
from programs.errors import InputError

_SUFFIX = ".parquet"
_TIME = "last_modified_datetime"
_COLUMNS = ("qid", "query", "retrieval_gt", "generation_gt")


def read_autorag(paths: Sequence[Path]) -> ForeignSet:
    """Read both tables, from a folder or the two files."""
    files = _tables(paths)
    if len(files) != 2:
        raise InputError(
            f"{named(paths)}: autorag is two files, qa.parquet and corpus.parquet; name them or their folder"
        )
    tables = {_kind(file): file for file in files}
    if set(tables) != {"qa", "corpus"}:
        raise InputError(f"{named(files)}: one must have the columns doc_id and contents, the other qid and query")
    chunks = [_chunk(*row) for row in parquet_rows(tables["corpus"])]
    questions = [_question(*row) for row in parquet_rows(tables["qa"])]
    return ForeignSet(chunks, questions, tables["corpus"], [(tables["qa"], len(questions)), (tables["corpus"], 0)])


def _tables(paths: Sequence[Path]) -> list[Path]:
    files = [file for file in listed(paths) if file.suffix.lower() == _SUFFIX]
    own = [file for file in files if file.stem in ("qa", "corpus")]
    return own if len(own) == 2 else files  # such as qa_train.parquet beside them


def _kind(file: Path) -> str:
    """Return which table a file holds, by its columns."""
    columns = parquet_columns(file)
    if {"qid", "query"} <= columns:
        return "qa"
    return "corpus" if {"doc_id", "contents"} <= columns else "neither"


def _chunk(where: str, fields: Mapping[str, Any]) -> ForeignChunk:
    metadata = metadata_of(where, fields)
    # A neighbour that is None says something too.
    neighbours = {name: metadata[name] for name in ("prev_id", "next_id") if name in metadata}
    own = {*neighbours, "document_id", "title", _TIME}
    further = {name: value for name, value in metadata.items() if name not in own and not is_missing(value)}
    return ForeignChunk(
        where=where,
        chunk_id=required(where, fields, "doc_id"),
        text=required(where, fields, "contents"),
        source=optional(where, metadata, "document_id"),
        path=optional(where, fields, "path"),
        title="" if metadata.get("title") == "" else optional(where, metadata, "title"),
        span=span_of(where, fields),
        modified=_time(where, metadata.get(_TIME)),
        metadata=neighbours | further,
    )


def _time(where: str, value: Any) -> datetime | None:
    """Return a time as ISO 8601 spells it; AutoRAG's are without a zone, so UTC is meant."""
    if value in (None, "", "NaT"):
        return None
    try:
        found = datetime.fromisoformat(value)
    except (TypeError, ValueError) as error:
        raise InputError(f"{where}, column metadata: {_TIME} must be a date with a time") from error
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _question(where: str, fields: Mapping[str, Any]) -> ForeignQuestion:
    answers = fields.get("generation_gt")
    answers = [answers] if isinstance(answers, str) else [] if is_missing(answers) else answers
    if not isinstance(answers, list) or not all(isinstance(answer, str) for answer in answers):
        raise InputError(f"{where}, column generation_gt: must be a list of texts")
    answers = [answer for answer in answers if answer.strip()]
    rest = {name: value for name, value in fields.items() if name not in _COLUMNS and not is_missing(value)}
    extra = metadata_of(where, {"metadata": rest})
    return ForeignQuestion(
        where=where,
        question_id=required(where, fields, "qid"),
        question=required(where, fields, "query"),
        answer=answers[0] if answers else "",
        groups=_groups(where, fields.get("retrieval_gt")),
        metadata={
            **({"other_answers": answers[1:]} if len(answers) > 1 else {}),
            **({"imported": extra} if extra else {}),
        },
    )


def _groups(where: str, value: Any) -> tuple[tuple[str, ...], ...]:
    """Return groups of ids; one id, or a list of some, is one group."""
    if isinstance(value, str):
        value = [value]
    if isinstance(value, list) and value and not any(isinstance(group, list) for group in value):
        value = [value]
    groups = value if isinstance(value, list) else []
    if not groups or not all(isinstance(group, list) and group for group in groups):
        raise InputError(f"{where}, column retrieval_gt: must be lists of chunk ids, none of them empty")
    return tuple(
        tuple(dict.fromkeys(required(where, {"retrieval_gt id": name}, "retrieval_gt id") for name in group))
        for group in groups
    )


def _knows(paths: Sequence[Path]) -> bool:
    return len(_tables(paths)) == 2


IMPORT = ImportFormat("autorag", "qa.parquet and corpus.parquet, or their folder", _knows, read_autorag)
