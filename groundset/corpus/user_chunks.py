"""Read the user's own chunks from JSONL or parquet.

A row has ``contents`` and ``doc_id``, as in AutoRAG's corpus, where ``doc_id`` is the id of the chunk; or ``text``,
``chunk_id`` and ``doc_id``, as ``groundset chunk`` writes them. Optional: ``path``, ``title``, ``headings``,
``metadata`` and ``start_end_idx`` (or ``start`` and ``end``), which is stored in the metadata. In AutoRAG rows the
metadata may hold ``document_id`` and ``title`` of the document.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from groundset.corpus.documents import document_id
from groundset.corpus.files import find_documents, portable
from groundset.corpus.parsing.text import name_title
from groundset.corpus.remote import GLOB, RemoteFile, TooLargeError, copied
from groundset.parquet import parquet_rows
from groundset.rows import headings_of, jsonl_rows, metadata_of, optional, required, span_of
from groundset.sources import source_of
from programs.errors import InputError
from programs.types import Chunk, Document

CHUNK_SUFFIXES = frozenset({".jsonl", ".parquet"})
_SEPARATOR = "\n\n"
_MAX_BYTES = 8 << 30  # of a remote file


class UserChunks(NamedTuple):
    """The chunks, and documents that concatenate the chunks of each source."""

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


def names_chunks(source: str | Path) -> bool:
    """Return whether a source is a file of chunks, or a glob or URL of several."""
    found = source_of(source)
    return found.suffix.lower() in CHUNK_SUFFIXES and not (isinstance(found, Path) and found.is_dir())


def chunk_files(sources: Iterable[str | Path]) -> list[Path | RemoteFile]:
    """Return the files of chunks among sources.

    Raises:
        InputError: a glob or a URL matches no file.
    """
    files: list[Path | RemoteFile] = []
    for source in map(source_of, filter(names_chunks, sources)):
        if isinstance(source, Path) and (source.exists() or not GLOB & set(str(source))):
            files.append(source)
            continue
        found = (each.file for each in find_documents([source]).files)
        files += [file for file in found if file.suffix.lower() in CHUNK_SUFFIXES]
    return files


def read_user_chunks(file: Path | RemoteFile) -> UserChunks:
    """Read a file of chunks; an invalid row raises an ``InputError`` that names its line and column."""
    if isinstance(file, RemoteFile):
        rows, modified = _remote_rows(file), file.modified
    elif not file.is_file():
        raise InputError(f"no such file: {file}")
    else:
        try:
            modified = datetime.fromtimestamp(file.stat().st_mtime, UTC)
            rows = _rows(file, file.suffix)
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
        document, document_chunks = _document(members, file, modified)
        documents.append(document)
        chunks += document_chunks
    order = {row.chunk_id: number for number, row in enumerate(rows)}
    return UserChunks(documents, sorted(chunks, key=lambda chunk: order[chunk.chunk_id]))


def _remote_rows(file: RemoteFile) -> list[_Row]:
    try:
        with copied(file, _MAX_BYTES) as copy:
            try:
                rows = _rows(copy, file.suffix)
            except InputError as error:
                raise InputError(str(error).replace(str(copy), str(file))) from error
            return [row._replace(where=row.where.replace(str(copy), str(file))) for row in rows]
    except TooLargeError:
        raise InputError(f"{file}: larger than {_MAX_BYTES >> 30} GB; divide it") from None


def _rows(file: Path, suffix: str) -> list[_Row]:
    raw = parquet_rows(file) if suffix.lower() == ".parquet" else jsonl_rows(file)
    return [_row(where, fields) for where, fields in raw]


def _row(where: str, fields: Mapping[str, Any]) -> _Row:
    text = required(where, fields, "contents", "text")
    has_chunk_id = fields.get("chunk_id") is not None
    chunk_id = required(where, fields, "chunk_id" if has_chunk_id else "doc_id")
    metadata = metadata_of(where, fields)
    document_fields = {} if has_chunk_id else metadata
    span = span_of(where, fields)
    if span is not None:
        metadata["start_end_idx"] = list(span)
    return _Row(
        where=where,
        chunk_id=chunk_id,
        source=optional(where, fields, "doc_id") if has_chunk_id else optional(where, document_fields, "document_id"),
        path=optional(where, fields, "path"),
        title=optional(where, fields, "title") or optional(where, document_fields, "title"),
        headings=headings_of(where, fields),
        text=text,
        metadata=metadata,
    )


def _document(rows: list[_Row], file: Path | RemoteFile, modified: datetime | None) -> tuple[Document, list[Chunk]]:
    """Concatenate the chunks of one source into a document, so that their offsets are valid."""
    first = rows[0]
    path = first.path or portable(file.name)
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
