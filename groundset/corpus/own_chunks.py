"""The user's own chunks, from JSONL or parquet, taken as they are.

A row has ``contents`` and ``doc_id``, as in AutoRAG's corpus, where ``doc_id`` names the chunk; or ``text``,
``chunk_id`` and ``doc_id``, as ``groundset chunk`` writes them. Optional: ``path``, ``title``, ``headings``,
``metadata`` and ``start_end_idx`` (or ``start`` and ``end``), which is kept in the metadata.
"""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from groundset.corpus.documents import document_id
from groundset.corpus.text import name_title
from programs.errors import InputError
from programs.types import Chunk, Document

CHUNK_SUFFIXES = frozenset({".jsonl", ".parquet"})
_SEPARATOR = "\n\n"
# Pydantic reads JSON up to a depth of 200, and what is stored of a run holds metadata several levels down.
_MAX_DEPTH = 100


class OwnChunks(NamedTuple):
    """Chunks as they were given, and documents that hold the chunks of one source one after the other."""

    documents: list[Document]
    chunks: list[Chunk]


class _Row(NamedTuple):
    where: str
    chunk_id: str
    source: str | None
    path: str | None
    title: str | None
    headings: tuple[str, ...]
    text: str
    metadata: dict[str, Any]


def read_own_chunks(file: Path) -> OwnChunks:
    """Read a file of chunks; a wrong row is an ``InputError`` that names its line and column."""
    if not file.is_file():
        raise InputError(f"no such file: {file}")
    try:
        modified = datetime.fromtimestamp(file.stat().st_mtime, UTC)
        raw = _parquet(file) if file.suffix.lower() == ".parquet" else _jsonl(file)
        rows = [_row(where, fields) for where, fields in raw]
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror or error}") from error
    if not rows:
        raise InputError(f"{file} holds no chunks")
    first: dict[str, str] = {}
    sources: dict[str, list[_Row]] = {}
    for row in rows:
        if row.chunk_id in first:
            raise InputError(f"{row.where}: the id {row.chunk_id!r} was used before, in {first[row.chunk_id]}")
        first[row.chunk_id] = row.where
        sources.setdefault(row.source or row.path or row.chunk_id, []).append(row)
    documents: list[Document] = []
    chunks: list[Chunk] = []
    for members in sources.values():
        document, own = _document(members, file, modified)
        documents.append(document)
        chunks += own
    order = {row.chunk_id: number for number, row in enumerate(rows)}
    return OwnChunks(documents, sorted(chunks, key=lambda chunk: order[chunk.chunk_id]))


def _jsonl(file: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    try:
        lines = file.read_text(encoding="utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise InputError(f"{file} is not UTF-8 text") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = f"{file}, line {number}"
        try:
            fields = json.loads(line)
            json.dumps(fields, ensure_ascii=False).encode()  # half a character, as "\ud800" is, cannot be written
        except UnicodeError as error:
            raise InputError(f"{where}: not valid Unicode text") from error
        except RecursionError as error:
            raise InputError(f"{where}: nested too deep") from error
        except ValueError as error:
            raise InputError(f"{where}: not JSON ({error})") from error
        if not isinstance(fields, dict):
            raise InputError(f"{where}: not a JSON object")
        yield where, fields


def _parquet(file: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    # pyarrow takes a while to import; only parquet files wait for it.
    import pyarrow
    from pyarrow import parquet

    try:
        rows = parquet.read_table(file).to_pylist()
    except pyarrow.ArrowException as error:
        raise InputError(f"{file} is not a parquet file ({str(error).splitlines()[0]})") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{file}: its texts are not UTF-8") from error
    for number, fields in enumerate(rows, 1):
        yield f"{file}, row {number}", fields


def _row(where: str, fields: Mapping[str, Any]) -> _Row:
    text = _required(where, fields, "contents", "text")
    own_id = fields.get("chunk_id") is not None
    chunk_id = _required(where, fields, "chunk_id" if own_id else "doc_id")
    metadata = fields.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        raise InputError(f"{where}, column metadata: must be an object, not {type(metadata).__name__}")
    if _is_nested(metadata, _MAX_DEPTH):
        raise InputError(f"{where}, column metadata: nested more than {_MAX_DEPTH} deep")
    headings = fields.get("headings")
    if headings is not None and not (isinstance(headings, list) and all(isinstance(h, str) for h in headings)):
        raise InputError(f"{where}, column headings: must be a list of texts")
    span = fields.get("start_end_idx")
    if span is None and None not in (fields.get("start"), fields.get("end")):
        span = [fields["start"], fields["end"]]
    if span is not None:
        span = list(span) if isinstance(span, list | tuple) else None
        if span is None or len(span) != 2 or not all(isinstance(i, int) for i in span):
            raise InputError(f"{where}, column start_end_idx: must be two whole numbers")
        metadata = {**(metadata or {}), "start_end_idx": span}
    return _Row(
        where=where,
        chunk_id=chunk_id,
        source=_optional(where, fields, "doc_id") if own_id else None,
        path=_optional(where, fields, "path"),
        title=_optional(where, fields, "title"),
        headings=tuple(headings or ()),
        text=text,
        # Parquet brings dates and other values that JSON does not know.
        metadata=json.loads(json.dumps(metadata or {}, default=_plain)),
    )


def _required(where: str, fields: Mapping[str, Any], *names: str) -> str:
    name = next((name for name in names if fields.get(name) is not None), names[0])
    value = fields.get(name)
    if isinstance(value, int) and name.endswith("_id") and not isinstance(value, bool):
        value = str(value)
    if value is None:
        raise InputError(f"{where}: column {name} is missing")
    if not isinstance(value, str):
        raise InputError(f"{where}, column {name}: must be text, not {type(value).__name__}")
    if not value.strip():
        raise InputError(f"{where}, column {name}: is empty")
    return value


def _optional(where: str, fields: Mapping[str, Any], name: str) -> str | None:
    return None if fields.get(name) in (None, "") else _required(where, fields, name)


def _is_nested(value: object, depth: int) -> bool:
    """Say whether objects and lists stand inside each other more than ``depth`` deep."""
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else None
    return inner is not None and (depth == 0 or any(_is_nested(each, depth - 1) for each in inner))


def _plain(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _document(rows: list[_Row], file: Path, modified: datetime) -> tuple[Document, list[Chunk]]:
    """Lay the chunks of one source one after the other, so that their offsets hold here as everywhere."""
    first = rows[0]
    path = first.path or file.name
    title = first.title or (name_title(first.path) if first.path else "")
    text = _SEPARATOR.join(row.text for row in rows)
    doc_id = first.source or (document_id(first.path, text) if first.path else first.chunk_id)
    chunks = []
    start = 0
    for row in rows:
        end = start + len(row.text)
        chunks.append(
            Chunk(
                chunk_id=row.chunk_id,
                doc_id=doc_id,
                path=path,
                title=row.title or title,
                headings=row.headings,
                start=start,
                end=end,
                text=row.text,
                metadata=row.metadata,
            )
        )
        start = end + len(_SEPARATOR)
    return Document(doc_id=doc_id, path=path, title=title, text=text, last_modified=modified), chunks
