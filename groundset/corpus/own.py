"""Read the user's own chunks from JSON lines or parquet.

A row has ``contents`` and ``doc_id``, as in AutoRAG's corpus, where ``doc_id`` is the id of the chunk; or ``text``,
``chunk_id`` and ``doc_id``, as ``groundset chunk`` writes them. Optional: ``path``, ``title``, ``headings``,
``metadata`` and ``start_end_idx`` (or ``start`` and ``end``), which is stored in the metadata. In AutoRAG rows the
metadata may hold ``document_id`` and ``title`` of the document.
"""

from collections.abc import Mapping
from itertools import accumulate
from pathlib import Path
from typing import Any

from groundset.corpus.find import portable
from groundset.corpus.parsing import name_title
from groundset.corpus.read import document_id, modified
from groundset.rows import headings_of, jsonl_rows, metadata_of, optional, parquet_rows, required, span_of
from programs.errors import InputError
from programs.types import Chunk, Document

_SEPARATOR = "\n\n"


def read_own_chunks(file: Path) -> tuple[list[Document], list[Chunk]]:
    """Read a file of chunks, in its order, and concatenate those of each source into a document.

    Raises:
        InputError: the file cannot be read, or a row is invalid; the message names its line and column.
    """
    readers = {".jsonl": jsonl_rows, ".parquet": parquet_rows}
    if file.suffix.lower() not in readers:
        raise InputError(f"--chunks {file}: name a .jsonl or .parquet file")
    sources: dict[str, list[Chunk]] = {}
    first: dict[str, str] = {}
    try:
        changed = modified(file)
        for where, fields in readers[file.suffix.lower()](file):
            chunk = chunk_of(where, fields)
            if chunk.chunk_id in first:
                raise InputError(f"{where}: the id {chunk.chunk_id!r} was used before, in {first[chunk.chunk_id]}")
            first[chunk.chunk_id] = where
            sources.setdefault(chunk.doc_id or chunk.path or chunk.chunk_id, []).append(chunk)
    except OSError as error:
        raise InputError(f"--chunks {file}: cannot be read: {(error.strerror or str(error)).lower()}") from error
    if not first:
        raise InputError(f"--chunks {file}: holds no chunks")
    documents: list[Document] = []
    placed: dict[str, Chunk] = {}
    for chunks in sources.values():
        path = chunks[0].path or portable(file.name)
        title = chunks[0].title or (name_title(chunks[0].path) if chunks[0].path else "")
        text = _SEPARATOR.join(chunk.text for chunk in chunks)
        doc_id = chunks[0].doc_id or (document_id(path, text) if chunks[0].path else chunks[0].chunk_id)
        documents.append(Document(doc_id=doc_id, path=path, title=title, text=text, last_modified=changed))
        starts = accumulate((len(chunk.text) + len(_SEPARATOR) for chunk in chunks), initial=0)
        for chunk, start in zip(chunks, starts, strict=False):
            place = {"doc_id": doc_id, "path": path, "start": start, "end": start + len(chunk.text)}
            placed[chunk.chunk_id] = chunk.model_copy(update={"title": chunk.title or title, **place})
    return documents, [placed[chunk_id] for chunk_id in first]


def chunk_of(where: str, fields: Mapping[str, Any]) -> Chunk:
    """Return the chunk in a row, not yet placed in its document; what the row lacks is empty.

    Raises:
        InputError: the row is invalid; the message begins with ``where``.
    """
    has_chunk_id = fields.get("chunk_id") is not None
    text = required(where, fields, *(("text", "contents") if has_chunk_id else ("contents", "text")))
    metadata = metadata_of(where, fields)
    of_document = {} if has_chunk_id else metadata
    source = optional(where, fields, "doc_id") if has_chunk_id else optional(where, of_document, "document_id")
    span = span_of(where, fields)
    return Chunk(
        chunk_id=required(where, fields, "chunk_id" if has_chunk_id else "doc_id"),
        doc_id=source or "",
        path=optional(where, fields, "path") or "",
        title=optional(where, fields, "title") or optional(where, of_document, "title") or "",
        headings=headings_of(where, fields),
        start=0,
        end=len(text),
        text=text,
        metadata=metadata | (metadata_of(where, {"metadata": {"start_end_idx": list(span)}}) if span else {}),
    )
