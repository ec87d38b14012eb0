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

from pydantic import ValidationError

from groundset.corpus.find import portable
from groundset.corpus.parsing import name_title
from groundset.corpus.read import document_id
from groundset.files import write_rows
from groundset.programs.errors import InputError
from groundset.programs.text import composed
from groundset.programs.types import Chunk, Document
from groundset.programs.untrusted import first_fault
from groundset.rows import (
    Row,
    jsonl_rows,
    metadata_of,
    optional,
    parquet_rows,
    required,
    span_of,
)

OFFSETS = "start_end_idx"
# What AutoRAG's metadata say of the document and the neighbours of a chunk.
OF_AUTORAG = frozenset(
    ("last_modified_datetime", "prev_id", "next_id", "title", "document_id", OFFSETS)
)
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
    documents, chunks = rebuilt(readers[file.suffix.lower()](file), portable(file.name))
    if not chunks:
        raise InputError(f"--chunks {file}: holds no chunks")
    return documents, chunks


def rebuilt(rows: Iterable[Row], corpus: str) -> tuple[list[Document], list[Chunk]]:
    """Return the documents that the chunks in rows come from, and these in the order of the rows,
    each once; ``corpus`` is the path of chunks without one.

    Raises:
        InputError: a row is invalid, or a chunk comes again with another text.
    """
    found: dict[str, tuple[str, Chunk]] = {}
    sources: dict[str, list[Chunk]] = {}
    for where, fields in rows:
        chunk = chunk_of(where, fields)
        before, known = found.setdefault(chunk.chunk_id, (where, chunk))
        if known is chunk:
            sources.setdefault(chunk.doc_id, []).append(chunk)
        elif known.text != chunk.text:
            raise InputError(f"{where}: chunk {chunk.chunk_id} has another text in {before}")
    documents, placed = [], {}
    for doc_id, chunks in sources.items():
        about = {"path": chunks[0].path or corpus, "doc_id": doc_id}
        title = chunks[0].title or name_title(chunks[0].path)
        text = _text_from_offsets(chunks)
        if text is None:
            text = _SEPARATOR.join(chunk.text for chunk in chunks)
            starts = [0, *accumulate(len(chunk.text) + len(_SEPARATOR) for chunk in chunks)]
        else:
            starts = [chunk.metadata.pop(OFFSETS)[0] for chunk in chunks]
        for chunk, start in zip(chunks, starts, strict=False):
            place = {"title": chunk.title or title, "start": start, "end": start + len(chunk.text)}
            placed[chunk.chunk_id] = chunk.model_copy(update=about | place)
        documents.append(Document(**about, title=title, text=text))
    return documents, [placed[name] for name in found]


def chunk_of(where: str, fields: Mapping[str, Any]) -> Chunk:
    """Return the chunk in a row, not yet placed in its document; what the row lacks is empty.

    Raises:
        InputError: the row is invalid; the message begins with ``where``.
    """
    metadata = metadata_of(where, fields)
    if fields.get("chunk_id") is None:  # a row of AutoRAG's
        fields = {
            **fields,
            "chunk_id": required(where, fields, "doc_id"),
            "doc_id": metadata.get("document_id"),
            "title": fields.get("title") or metadata.get("title"),
        }
        metadata = {
            name: value
            for name, value in metadata.items()
            if name not in OF_AUTORAG and value is not None
        }
    if span := span_of(where, fields):
        metadata = metadata | {OFFSETS: list(span)}
    chunk_id = required(where, fields, "chunk_id")
    path = optional(where, fields, "path") or ""
    named = optional(where, fields, "doc_id")
    text = composed(required(where, fields, "contents", "text"))
    try:
        return Chunk(
            chunk_id=chunk_id,
            doc_id=named or (document_id(path, "") if path else chunk_id),
            path=path,
            title=optional(where, fields, "title") or "",
            headings=fields.get("headings") or (),
            start=0,
            end=len(text),
            text=text,
            metadata=metadata,
        )
    except ValidationError as error:
        raise InputError(f"{where}: {first_fault(error)}") from error


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
