"""Split a document into chunks: merge spans, join short ones and assign ids and headings."""

import hashlib
import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from groundset.corpus.chunkers import Chunker, ChunkingTools, trim
from groundset.corpus.listings import text_spans
from groundset.corpus.structure import Span, heading_end, heading_paths, is_short_line
from groundset.corpus.tables import TableOrFigure, described, tables_and_figures
from programs.types import Chunk, Document

_NOT_SPACE = re.compile(r"\S")
_Path = tuple[int, ...]


def chunk_document(
    document: Document, chunker: Chunker, size: int, overlap: int, merge: int, min_length: int, tools: ChunkingTools
) -> tuple[list[Chunk], int]:
    """Split a document into chunks, except its listings; also return how many were dropped as too short."""
    paths = _HeadingPaths(document)
    joined: list[Span] = []
    for part in text_spans(document):
        inside = chunker.split(_excerpt(document, part), size, overlap, tools)
        untrimmed = [Span(part.start + start, part.start + end) for start, end in inside]
        spans = [span for span in (trim(document.text, span) for span in untrimmed) if span.start < span.end]
        spans = [Span(spans[i].start, spans[min(i + merge, len(spans)) - 1].end) for i in range(0, len(spans), merge)]
        joined += _join_short(document, spans, min_length, paths if chunker.by_section else None)
    kept = [span for span in joined if span.end - span.start >= min_length]
    found = tables_and_figures(document)
    chunks = [_chunk(document, span, number, paths.of(span), found) for number, span in enumerate(kept, 1)]
    return chunks, len(joined) - len(kept)


def _chunk(document: Document, span: Span, number: int, path: _Path, found: Sequence[TableOrFigure]) -> Chunk:
    return Chunk(
        chunk_id=f"{document.doc_id}-{number:04d}",
        doc_id=document.doc_id,
        path=document.path,
        title=document.title,
        headings=tuple(document.headings[index].text for index in path),
        start=span.start,
        end=span.end,
        text=document.text[span.start : span.end],
        metadata=_pages(document, span) | described(found, span),
    )


def _pages(document: Document, span: Span) -> dict[str, Any]:
    """Return the first page of a span as metadata, and all its pages if there are several."""
    starts = document.pages
    first = max(0, bisect_right([start.start for start in starts], span.start) - 1)
    pages = sorted({start.page for start in starts[first:] if start.start < span.end})
    if not pages:
        return {}
    return {"page": pages[0], "pages": pages} if len(pages) > 1 else {"page": pages[0]}


def _excerpt(document: Document, part: Span) -> Document:
    """Return a part of a document as a document, with its headings."""
    if part == (0, len(document.text)):
        return document
    first, last = (bisect_left(document.headings, each, key=lambda heading: heading.start) for each in part)
    inside = document.headings[first:last]
    headings = tuple(heading.model_copy(update={"start": heading.start - part.start}) for heading in inside)
    return document.model_copy(update={"text": document.text[part.start : part.end], "headings": headings})


class _HeadingPaths:
    """Look up the headings above the spans of a document."""

    def __init__(self, document: Document) -> None:
        self._text = document.text
        self._starts = [heading.start for heading in document.headings]
        self._paths = heading_paths(document.headings)

    def of(self, span: Span) -> _Path:
        """Return the indexes of the headings above the first body text of a span."""
        index = bisect_right(self._starts, span.start) - 1
        position = span.start
        while True:
            if index >= 0 and self._starts[index] == position:
                position = heading_end(self._text, position)
            following = self._starts[index + 1] if index + 1 < len(self._starts) else span.end
            # The text in between is checked last: it can be long, and most spans end before the next heading.
            if following >= span.end or not self._has_no_body(position, following):
                return self._paths[index] if index >= 0 else ()
            index += 1
            position = following

    def _has_no_body(self, position: int, following: int) -> bool:
        """Return whether at most an unmarked heading stands between a position and the following heading."""
        match = _NOT_SPACE.search(self._text, position)
        start = match.start() if match else len(self._text)
        return start == following or is_short_line(self._text, start, following)


def _join_short(document: Document, spans: Sequence[Span], min_length: int, paths: _HeadingPaths | None) -> list[Span]:
    """Join every span below ``min_length`` to its shorter neighbour in the same section."""
    done: list[tuple[Span, _Path]] = []
    ahead = [(span, paths.of(span) if paths else ()) for span in reversed(spans)]
    while ahead:
        span, path = ahead.pop()
        neighbours = [side for side in (done, ahead) if side and _share_section(document, path, side[-1][1])]
        if span.end - span.start >= min_length or not neighbours:
            done.append((span, path))
            continue
        side = min(neighbours, key=lambda side: side[-1][0].end - side[-1][0].start)
        other, others = side.pop()
        # Check the joined span again; it may still be too short.
        ahead.append((Span(other.start, span.end), others) if side is done else (Span(span.start, other.end), path))
    return [span for span, _ in done]


def _share_section(document: Document, one: Sequence[int], other: Sequence[int]) -> bool:
    """Return whether two heading paths are equal or share a heading other than the document's title."""
    shared = [a for a, b in zip(one, other, strict=False) if a == b]
    return one == other or any(document.headings[index].text != document.title for index in shared)


def draw_order(chunks: Iterable[Chunk], seed: int) -> list[Chunk]:
    """Order chunks in rounds: one of every document, then a second of each, both shuffled by the seed.

    The order depends only on ids and the seed, not on the input order. Adding or removing a document keeps the
    order of the others.
    """
    documents: defaultdict[str, list[Chunk]] = defaultdict(list)
    for chunk in chunks:
        documents[chunk.doc_id].append(chunk)
    ranked = [
        (round_, random_rank(seed, doc_id), chunk)
        for doc_id, members in documents.items()
        for round_, chunk in enumerate(sorted(members, key=lambda chunk: random_rank(seed, chunk.chunk_id)))
    ]
    return [chunk for *_, chunk in sorted(ranked, key=lambda row: row[:2])]


def draw_in_turn(order: Sequence[Chunk], strata: Sequence[str], seed: int) -> list[Chunk]:
    """Reorder chunks in rounds: the first of every stratum, then the second of each; the seed shuffles the strata."""
    seen: Counter[str] = Counter()
    ranked = []
    for chunk, stratum in zip(order, strata, strict=True):
        ranked.append((seen[stratum], random_rank(seed, stratum), chunk))
        seen[stratum] += 1
    return [chunk for *_, chunk in sorted(ranked, key=lambda row: row[:2])]


def random_rank(seed: int, name: str) -> tuple[bytes, str]:
    """Return a pseudo-random sort key of a name, the same on every machine and Python version."""
    return hashlib.sha256(f"{seed}\0{name}".encode()).digest(), name
