"""Split a document into chunks: merge spans, join short ones, and assign ids, headings, pages and tables."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Any

from groundset.corpus.cutting.chunkers import BY_SECTION, Tools, split
from groundset.corpus.cutting.listings import text_spans
from groundset.corpus.cutting.structure import Span, heading_end, heading_paths, is_short_line
from groundset.corpus.cutting.tables import described, tables_of
from groundset.corpus.options import ChunkerName
from programs.types import Chunk, Document

_NOT_SPACE = re.compile(r"\S")
NO_TOOLS = Tools()


def chunk_document(
    document: Document,
    chunker: ChunkerName,
    size: int,
    overlap: int = 0,
    merge: int = 1,
    min_length: int = 0,
    tools: Tools = NO_TOOLS,
) -> tuple[list[Chunk], int]:
    """Split a document into chunks, except its listings; also return how many were dropped as too short."""
    paths = _HeadingPaths(document)
    joined: list[Span] = []
    for part in text_spans(document):
        excerpt = _excerpt(document, part)
        kept = [table.rows for table in tables_of(excerpt)]
        inside = split(excerpt, chunker, size, overlap, kept, tools)
        spans = [_trimmed(document.text, Span(part.start + start, part.start + end)) for start, end in inside]
        spans = [span for span in spans if span.start < span.end]
        spans = [Span(spans[n].start, spans[n : n + merge][-1].end) for n in range(0, len(spans), merge)]
        joined += _join_short(document, spans, min_length, paths if chunker in BY_SECTION else None)
    left = [span for span in joined if span.end - span.start >= min_length]
    tables = tables_of(document)
    chunks = [
        Chunk(
            chunk_id=f"{document.doc_id}-{number:04d}",
            doc_id=document.doc_id,
            path=document.path,
            title=document.title,
            headings=tuple(document.headings[index].text for index in paths.of(span)),
            start=span.start,
            end=span.end,
            text=document.text[span.start : span.end],
            metadata=_pages(document, span) | described(tables, span),
        )
        for number, span in enumerate(left, 1)
    ]
    return chunks, len(joined) - len(left)


def _trimmed(text: str, span: Span) -> Span:
    """Strip white space from both ends of a span."""
    content = text[span.start : span.end]
    start = span.start + len(content) - len(content.lstrip())
    return Span(start, max(start, span.start + len(content.rstrip())))


def _pages(document: Document, span: Span) -> dict[str, Any]:
    """Return the first page of a span as metadata, and all its pages if there are several."""
    first = max(0, bisect_right(document.pages, span.start, key=lambda page: page.start) - 1)
    pages = sorted({page.page for page in document.pages[first:] if page.start < span.end})
    return {"page": pages[0], "pages": pages} if len(pages) > 1 else {"page": pages[0]} if pages else {}


def _excerpt(document: Document, part: Span) -> Document:
    """Return a part of a document as a document, with its headings."""
    first, last = (bisect_left(document.headings, edge, key=lambda heading: heading.start) for edge in part)
    inside = document.headings[first:last]
    headings = tuple(heading.model_copy(update={"start": heading.start - part.start}) for heading in inside)
    return document.model_copy(update={"text": document.text[part.start : part.end], "headings": headings})


class _HeadingPaths:
    """Looks up the headings above the spans of a document."""

    def __init__(self, document: Document) -> None:
        self._text = document.text
        self._starts = [heading.start for heading in document.headings]
        self._paths = heading_paths(document.headings)

    def of(self, span: Span) -> tuple[int, ...]:
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
    done: list[tuple[Span, tuple[int, ...]]] = []
    ahead = [(span, paths.of(span) if paths else ()) for span in reversed(spans)]
    while ahead:
        span, path = ahead.pop()
        sides = [side for side in (done, ahead) if side and _share_section(document, path, side[-1][1])]
        if span.end - span.start >= min_length or not sides:
            done.append((span, path))
            continue
        side = min(sides, key=lambda side: side[-1][0].end - side[-1][0].start)
        other, others = side.pop()
        # Check the joined span again; it may still be too short.
        ahead.append((Span(other.start, span.end), others) if side is done else (Span(span.start, other.end), path))
    return [span for span, _ in done]


def _share_section(document: Document, one: Sequence[int], other: Sequence[int]) -> bool:
    """Return whether two heading paths are equal or share a heading other than the document's title."""
    shared = [a for a, b in zip(one, other, strict=False) if a == b]
    return one == other or any(document.headings[index].text != document.title for index in shared)
