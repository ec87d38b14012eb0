"""Documents to chunks: cut, merge, join what is too short, name what is left."""

import re
from collections.abc import Iterable, Sequence

from groundset.corpus.chunkers import Chunker, ChunkingTools
from groundset.corpus.packing import trim
from groundset.corpus.structure import Span, heading_end, heading_path, is_short_line
from programs.types import Chunk, Document

_NOT_SPACE = re.compile(r"\S")


def chunk_document(
    document: Document, chunker: Chunker, size: int, overlap: int, merge: int, min_length: int, tools: ChunkingTools
) -> tuple[list[Chunk], int]:
    """Cut a document into chunks; also return how many were dropped as too short."""
    cut = chunker.split(document, size, overlap, tools)
    spans = [span for span in (trim(document.text, span) for span in cut) if span.start < span.end]
    spans = [Span(spans[i].start, spans[min(i + merge, len(spans)) - 1].end) for i in range(0, len(spans), merge)]
    joined = _join_short(document, spans, min_length, chunker.by_section)
    kept = [span for span in joined if span.end - span.start >= min_length]
    chunks = [_chunk(document, span, number) for number, span in enumerate(kept, 1)]
    return chunks, len(joined) - len(kept)


def _chunk(document: Document, span: Span, number: int) -> Chunk:
    return Chunk(
        chunk_id=f"{document.doc_id}-{number:04d}",
        doc_id=document.doc_id,
        path=document.path,
        title=document.title,
        headings=tuple(document.headings[index].text for index in _path(document, span)),
        start=span.start,
        end=span.end,
        text=document.text[span.start : span.end],
    )


def _path(document: Document, span: Span) -> tuple[int, ...]:
    """Number the headings above the first text of a span that is not itself a heading."""
    text, headings = document.text, document.headings
    index = max((i for i, heading in enumerate(headings) if heading.start <= span.start), default=-1)
    position = span.start
    while True:
        if index >= 0 and headings[index].start == position:
            position = heading_end(text, position)
        below = headings[index + 1].start if index + 1 < len(headings) else span.end
        between = _skip_space(text, position)
        leads = between == below or is_short_line(text, between, below)
        if below >= span.end or not leads:
            return heading_path(headings, index) if index >= 0 else ()
        index += 1
        position = below


def _skip_space(text: str, position: int) -> int:
    text_from = _NOT_SPACE.search(text, position)
    return text_from.start() if text_from else len(text)


def _join_short(document: Document, spans: Sequence[Span], min_length: int, by_section: bool) -> list[Span]:
    """Join every span below ``min_length`` to the shorter of its neighbours in the same section."""
    joined = list(spans)
    paths = [_path(document, span) if by_section else () for span in joined]
    index = 0
    while index < len(joined):
        if joined[index].end - joined[index].start >= min_length:
            index += 1
            continue
        neighbours = [
            other
            for other in (index - 1, index + 1)
            if 0 <= other < len(joined) and _share_section(document, paths[index], paths[other])
        ]
        if not neighbours:
            index += 1
            continue
        other = min(neighbours, key=lambda i: joined[i].end - joined[i].start)
        first = min(index, other)
        joined[first : first + 2] = [Span(joined[first].start, joined[first + 1].end)]
        paths[first : first + 2] = [paths[first]]
        index = first
    return joined


def _share_section(document: Document, one: Sequence[int], other: Sequence[int]) -> bool:
    """Say whether two texts stand under one heading; the document's title does not count as one."""
    if one == other:
        return True
    shared = [a for a, b in zip(one, other, strict=False) if a == b]
    return any(not _is_title(document, index) for index in shared)


def _is_title(document: Document, index: int) -> bool:
    return document.headings[index].text == document.title


def chunk_documents(
    documents: Iterable[Document],
    chunker: Chunker,
    size: int,
    overlap: int,
    merge: int,
    min_length: int,
    tools: ChunkingTools,
) -> tuple[list[Chunk], int]:
    """Cut documents into chunks; also return how many were dropped as too short."""
    chunks: list[Chunk] = []
    dropped = 0
    for document in documents:
        found, short = chunk_document(document, chunker, size, overlap, merge, min_length, tools)
        chunks += found
        dropped += short
    return chunks, dropped
