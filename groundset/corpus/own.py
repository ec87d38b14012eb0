"""Read the user's own chunks from JSON lines or parquet.

A row has ``contents`` and ``doc_id``, as in AutoRAG's corpus, where ``doc_id`` is the id of the
chunk; or ``text``, ``chunk_id`` and ``doc_id``, as ``groundset chunk`` writes them. Optional:
``path``, ``title``, ``headings``, ``metadata`` and ``start_end_idx`` (or ``start`` and ``end``). In
AutoRAG rows the metadata may hold ``document_id`` and ``title`` of the document. Where the offsets
of all chunks of a document fit, its text is made of the chunks, with line ends in the gaps; else
the chunks are joined, and the offsets are kept in their metadata.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

from groundset.corpus.find import portable
from groundset.corpus.parsing import name_title
from groundset.corpus.read import document_id, modified
from groundset.files import write_rows
from groundset.programs.errors import InputError
from groundset.programs.text import composed
from groundset.programs.types import Chunk, Document
from groundset.rows import (
    headings_of,
    jsonl_rows,
    metadata_of,
    optional,
    parquet_rows,
    required,
    span_of,
)

OFFSETS = "start_end_idx"
_SEPARATOR = "\n\n"
# longest text, as a multiple of the length of its chunks; larger offsets are considered wrong
_MAX_EXPANSION = 20


def read_own_chunks(file: Path) -> tuple[list[Document], list[Chunk]]:
    """Read a file of chunks, in its order, and rebuild the document of each source from them.

    Raises:
        InputError: the file cannot be read, or a row is invalid; the message names its line and
            column.
    """
    readers = {".jsonl": jsonl_rows, ".parquet": parquet_rows}
    if file.suffix.lower() not in readers:
        raise InputError(f"--chunks {file}: name a .jsonl or .parquet file")
    found: dict[str, Chunk] = {}
    places: dict[str, str] = {}
    sources: dict[str, list[Chunk]] = {}
    try:
        changed = modified(file)
        for where, fields in readers[file.suffix.lower()](file):
            chunk = chunk_of(where, fields)
            if (before := places.setdefault(chunk.chunk_id, where)) != where:
                raise InputError(f"{where}: the id {chunk.chunk_id!r} was used before, in {before}")
            sources.setdefault(chunk.doc_id or chunk.path or chunk.chunk_id, []).append(chunk)
    except OSError as error:
        raise InputError(
            f"--chunks {file}: cannot be read: {(error.strerror or str(error)).lower()}"
        ) from error
    if not places:
        raise InputError(f"--chunks {file}: holds no chunks")
    for chunks in sources.values():
        first = chunks[0]
        doc_id, path, title = first.doc_id, first.path or portable(file.name), first.title
        if first.path:
            text = _SEPARATOR.join(chunk.text for chunk in chunks)
            doc_id, title = doc_id or document_id(path, text), title or name_title(path)
        about = {"doc_id": doc_id or first.chunk_id, "path": path}
        for chunk in chunks:
            titled = about | {"title": chunk.title or title}
            found[chunk.chunk_id] = chunk.model_copy(update=titled)
    documents, placed = rebuilt(found)
    by_id = {chunk.chunk_id: chunk for chunk in placed}
    documents = [document.model_copy(update={"last_modified": changed}) for document in documents]
    return documents, [by_id[chunk_id] for chunk_id in places]


def chunk_of(where: str, fields: Mapping[str, Any]) -> Chunk:
    """Return the chunk in a row, not yet placed in its document; what the row lacks is empty.

    Raises:
        InputError: the row is invalid; the message begins with ``where``.
    """
    has_chunk_id = fields.get("chunk_id") is not None
    names = ("text", "contents") if has_chunk_id else ("contents", "text")
    text = composed(required(where, fields, *names))
    metadata = metadata_of(where, fields)
    of_document = {} if has_chunk_id else metadata
    source, name = (fields, "doc_id") if has_chunk_id else (metadata, "document_id")
    span = span_of(where, fields)
    return Chunk(
        chunk_id=required(where, fields, "chunk_id" if has_chunk_id else "doc_id"),
        doc_id=optional(where, source, name) or "",
        path=optional(where, fields, "path") or "",
        title=optional(where, fields, "title") or optional(where, of_document, "title") or "",
        headings=headings_of(where, fields),
        start=0,
        end=len(text),
        text=text,
        metadata=metadata
        | (metadata_of(where, {"metadata": {OFFSETS: list(span)}}) if span else {}),
    )


def rebuilt(chunks: Mapping[str, Chunk], corpus: str = "") -> tuple[list[Document], list[Chunk]]:
    """Return documents, and chunks with their places in them; ``corpus`` is the path of chunks
    without one.
    """
    by_document: dict[str, list[Chunk]] = {}
    for chunk in chunks.values():
        by_document.setdefault(chunk.doc_id, []).append(chunk)
    documents, placed = [], []
    for doc_id, members in by_document.items():
        text, first = _text_from_offsets(members), members[0]
        if text is None:
            text = _SEPARATOR.join(chunk.text for chunk in members)
            starts = [0, *accumulate(len(chunk.text) + len(_SEPARATOR) for chunk in members)]
        else:
            starts = [chunk.metadata.pop(OFFSETS)[0] for chunk in members]
        own = [
            chunk.model_copy(
                update={
                    "start": start,
                    "end": start + len(chunk.text),
                    "path": chunk.path or corpus,
                }
            )
            for chunk, start in zip(members, starts, strict=False)
        ]
        documents.append(
            Document(doc_id=doc_id, path=first.path or corpus, title=first.title, text=text)
        )
        placed += sorted(own, key=lambda chunk: (chunk.start, chunk.end))
    return documents, placed


def _text_from_offsets(chunks: Sequence[Chunk]) -> str | None:
    """Rebuild a text from the offsets of its chunks; None if they are missing or do not fit."""
    spans = [
        (*chunk.metadata[OFFSETS], chunk.text) for chunk in chunks if chunk.metadata.get(OFFSETS)
    ]
    most = _MAX_EXPANSION * sum(len(text) for _, _, text in spans)
    are_right = (
        start >= 0 and end - start == len(text) and end <= most for start, end, text in spans
    )
    if len(spans) < len(chunks) or not all(are_right):
        return None
    whole = ""
    for start, end, text in sorted(spans):
        whole = whole.ljust(start, "\n")
        overlap = whole[start:end]
        if not text.startswith(overlap):
            return None
        whole += text[len(overlap) :]
    return whole


def write_texts(file: Path, texts: Iterable[str | Mapping[str, Any]]) -> None:
    """Write passages as chunks, with ids made of their content if they have none."""
    rows = []
    for text in texts:
        row = {"text": text} if isinstance(text, str) else text
        content = repr(sorted(row.items())).encode("utf-8", "replace")
        name = hashlib.sha256(content).hexdigest()[:16]
        rows.append({"chunk_id": name, "doc_id": name, **row})
    write_rows(file, rows)
