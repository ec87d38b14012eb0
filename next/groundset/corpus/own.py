"""Read the user's own chunks from JSON lines or parquet.

A row has ``contents`` and ``doc_id``, as in AutoRAG's corpus, where ``doc_id`` is the id of the chunk; or ``text``,
``chunk_id`` and ``doc_id``, as ``groundset chunk`` writes them. Optional: ``path``, ``title``, ``headings``,
``metadata`` and ``start_end_idx`` (or ``start`` and ``end``), which is stored in the metadata. In AutoRAG rows the
metadata may hold ``document_id`` and ``title`` of the document.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from groundset.corpus.find import portable
from groundset.corpus.parsing.text import name_title
from groundset.corpus.read import document_id
from groundset.rows import headings_of, jsonl_rows, metadata_of, optional, parquet_rows, required, span_of
from programs.errors import InputError
from programs.types import Chunk, Document

_SEPARATOR = "\n\n"


class _Row(NamedTuple):
    chunk_id: str
    source: str | None
    path: str | None
    title: str | None
    headings: tuple[str, ...]
    text: str
    metadata: dict[str, Any]


def read_own_chunks(file: Path) -> tuple[list[Document], list[Chunk]]:
    """Read a file of chunks, in its order, and concatenate those of each source into a document.

    Raises:
        InputError: the file cannot be read, or a row is invalid; the message names its line and column.
    """
    if file.suffix.lower() not in (".jsonl", ".parquet"):
        raise InputError(f"--chunks {file}: name a .jsonl or .parquet file")
    sources: dict[str, list[_Row]] = {}
    first: dict[str, str] = {}
    try:
        modified = datetime.fromtimestamp(file.stat().st_mtime, UTC)
        for where, fields in parquet_rows(file) if file.suffix.lower() == ".parquet" else jsonl_rows(file):
            row = _row(where, fields)
            if row.chunk_id in first:
                raise InputError(f"{where}: the id {row.chunk_id!r} was used before, in {first[row.chunk_id]}")
            first[row.chunk_id] = where
            sources.setdefault(row.source or row.path or row.chunk_id, []).append(row)
    except OSError as error:
        raise InputError(f"--chunks {file}: cannot be read: {(error.strerror or str(error)).lower()}") from error
    if not first:
        raise InputError(f"--chunks {file}: holds no chunks")
    documents: list[Document] = []
    found: dict[str, Chunk] = {}
    for rows in sources.values():
        document, chunks = _document(rows, file, modified)
        documents.append(document)
        found |= {chunk.chunk_id: chunk for chunk in chunks}
    return documents, [found[chunk_id] for chunk_id in first]


def _row(where: str, fields: Mapping[str, Any]) -> _Row:
    text = required(where, fields, "contents", "text")
    has_chunk_id = fields.get("chunk_id") is not None
    metadata = metadata_of(where, fields)
    of_document = {} if has_chunk_id else metadata
    span = span_of(where, fields)
    return _Row(
        chunk_id=required(where, fields, "chunk_id" if has_chunk_id else "doc_id"),
        source=optional(where, fields, "doc_id") if has_chunk_id else optional(where, of_document, "document_id"),
        path=optional(where, fields, "path"),
        title=optional(where, fields, "title") or optional(where, of_document, "title"),
        headings=headings_of(where, fields),
        text=text,
        metadata=metadata | ({"start_end_idx": list(span)} if span else {}),
    )


def _document(rows: list[_Row], file: Path, modified: datetime) -> tuple[Document, list[Chunk]]:
    """Concatenate the chunks of one source, so that their offsets are valid."""
    first = rows[0]
    path = first.path or portable(file.name)
    title = first.title or (name_title(first.path) if first.path else "")
    text = _SEPARATOR.join(row.text for row in rows)
    doc_id = first.source or (document_id(first.path, text) if first.path else first.chunk_id)
    chunks, start = [], 0
    for row in rows:
        chunks.append(
            Chunk(
                chunk_id=row.chunk_id,
                doc_id=doc_id,
                path=path,
                title=row.title or title,
                headings=row.headings,
                start=start,
                end=start + len(row.text),
                text=row.text,
                metadata=row.metadata,
            )
        )
        start += len(row.text) + len(_SEPARATOR)
    return Document(doc_id=doc_id, path=path, title=title, text=text, last_modified=modified), chunks
