"""Rebuild the documents of an imported set from their chunks.

If the offsets of a document's chunks are consistent, its text is rebuilt from them, with newlines in the gaps.
Otherwise the chunks are concatenated, and their imported offsets (or None) are kept in their metadata as
``start_end_idx``, so that they are exported unchanged.
"""

from collections.abc import Collection, Sequence
from datetime import UTC
from itertools import accumulate
from typing import Any, NamedTuple

from groundset.corpus.documents import document_id
from groundset.corpus.parsing.text import name_title
from groundset.run import unused_id
from groundset.sets.exports.autorag import neighbour_ids
from groundset.sets.imports.base import ForeignChunk
from programs.types import Chunk, Document

_SEPARATOR = "\n\n"
_MAX_EXPANSION = 20  # longest text, as a multiple of the length of its chunks; larger offsets are considered wrong
_NEIGHBOURS = ("prev_id", "next_id")
_TIME = "last_modified_datetime"


class RebuiltCorpus(NamedTuple):
    """Documents, and their chunks in the order of the set."""

    documents: list[Document]
    chunks: list[Chunk]


def rebuild_corpus(foreign: Sequence[ForeignChunk], corpus: str) -> RebuiltCorpus:
    """Rebuild the documents of a set; ``corpus`` is the path of chunks without one."""
    sources: dict[tuple[str, str], list[ForeignChunk]] = {}
    for chunk in foreign:
        key = ("id", chunk.source) if chunk.source else ("path", chunk.path) if chunk.path else ("", chunk.chunk_id)
        sources.setdefault(key, []).append(chunk)
    documents: dict[str, Document] = {}
    by_id: dict[str, Chunk] = {}
    for members in sources.values():
        document, chunks = _document(members, corpus, documents)
        documents[document.doc_id] = document
        by_id |= {chunk.chunk_id: chunk for chunk in chunks}
    ordered = [by_id[chunk.chunk_id] for chunk in foreign]
    neighbours = neighbour_ids(ordered)
    chunks = [_without_derived_neighbours(chunk, neighbours[chunk.chunk_id]) for chunk in ordered]
    return RebuiltCorpus(list(documents.values()), chunks)


def _without_derived_neighbours(chunk: Chunk, neighbours: tuple[str | None, str | None]) -> Chunk:
    """Remove neighbours from the metadata of a chunk if they follow from the order in its document."""
    derived = dict(zip(_NEIGHBOURS, neighbours, strict=True))
    metadata = {name: value for name, value in chunk.metadata.items() if name not in derived or derived[name] != value}
    return chunk if metadata == chunk.metadata else chunk.model_copy(update={"metadata": metadata})


def _document(foreign: Sequence[ForeignChunk], corpus: str, taken: Collection[str]) -> tuple[Document, list[Chunk]]:
    first = foreign[0]
    text = _text_from_spans(foreign)
    has_spans = text is not None
    starts = [chunk.span[0] for chunk in foreign if chunk.span] if has_spans else _concatenated_starts(foreign)
    if text is None:
        text = _SEPARATOR.join(chunk.text for chunk in foreign)
    path = first.path or corpus
    title = first.title if first.title is not None else name_title(first.path) if first.path else ""
    doc_id = unused_id(first.source or (document_id(first.path, text) if first.path else first.chunk_id), taken)
    modified = max((chunk.modified for chunk in foreign if chunk.modified), default=None)
    chunks = []
    for chunk, start in zip(foreign, starts, strict=True):
        metadata: dict[str, Any] = dict(chunk.metadata)
        if not has_spans:
            metadata["start_end_idx"] = None if chunk.span is None else list(chunk.span)
        if chunk.modified != modified:
            metadata[_TIME] = None if chunk.modified is None else chunk.modified.astimezone(UTC).isoformat()
        chunks.append(
            Chunk(
                chunk_id=chunk.chunk_id,
                doc_id=doc_id,
                path=chunk.path or path,
                title=title if chunk.title is None else chunk.title,
                headings=chunk.headings,
                start=start,
                end=start + len(chunk.text),
                text=chunk.text,
                metadata=metadata,
            )
        )
    return Document(doc_id=doc_id, path=path, title=title, text=text, last_modified=modified), chunks


def _text_from_spans(chunks: Sequence[ForeignChunk]) -> str | None:
    """Rebuild a text from the offsets of its chunks; None if they are missing or inconsistent."""
    spans = [(*chunk.span, chunk.text) for chunk in chunks if chunk.span]
    if len(spans) < len(chunks) or any(start < 0 or end - start != len(text) for start, end, text in spans):
        return None
    if max(end for _, end, _ in spans) > _MAX_EXPANSION * sum(len(text) for _, _, text in spans):
        return None
    rebuilt = ""
    for start, end, text in sorted(spans):
        rebuilt = rebuilt.ljust(start, "\n")
        overlap = rebuilt[start:end]
        if not text.startswith(overlap):
            return None
        rebuilt += text[len(overlap) :]
    return rebuilt


def _concatenated_starts(chunks: Sequence[ForeignChunk]) -> list[int]:
    lengths = [len(chunk.text) + len(_SEPARATOR) for chunk in chunks]
    return list(accumulate(lengths[:-1], initial=0))
