"""Split a document into chunks: merge spans, join short ones, assign ids, headings, pages and
tables; find copies.
"""

import re
import zlib
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from heapq import nsmallest
from typing import Any

from groundset.corpus.chunkers import Span, heading_end, heading_paths, split
from groundset.corpus.options import CorpusOptions
from groundset.corpus.parts import described, tables_of, text_spans
from groundset.programs.text import one_line, words_in
from groundset.programs.types import Chunk, Document

_CONTENT = re.compile(r"\S(?:.*\S)?", re.DOTALL)  # without white space at both ends
_NUMBER = re.compile(r"(?:(?<!\w)[-−])?\d+(?:[.,:/-]\d+)*")
_SHINGLE = 3  # words
_SHARED = 0.85  # of the shingles of both; chosen by hand
# Chunks that share this much have one of their four smallest hashes in common but in one of 2,000
# cases.
_KEYS = 4
_MAX_CANDIDATES = 25  # for each key; with more (form letters), only exact copies are found


def chunk_document(document: Document, options: CorpusOptions) -> tuple[list[Chunk], list[str]]:
    """Split a document into chunks, except its listings; also return the texts that were dropped as
    too short.
    """
    text, merge, outline = document.text, options.merge, _Outline(document)
    tables = tables_of(document)
    kept = [table.rows for table in tables]
    spans: list[Span] = []
    for part in text_spans(document):
        found = (_CONTENT.search(text, *span) for span in split(document, part, options, kept))
        inside = [Span(*content.span()) for content in found if content]
        merged = [
            Span(inside[n].start, inside[n : n + merge][-1].end)
            for n in range(0, len(inside), merge)
        ]
        spans += _join_short(merged, outline, options)
    left = [span for span in spans if span.end - span.start >= options.min_length]
    chunks = [
        Chunk(
            chunk_id=f"{document.doc_id}-{number:04d}",
            doc_id=document.doc_id,
            path=document.path,
            title=document.title,
            headings=tuple(document.headings[index].text for index in outline.path(span)),
            start=span.start,
            end=span.end,
            text=text[slice(*span)],
            metadata=_pages(document, span) | described(tables, span),
        )
        for number, span in enumerate(left, 1)
    ]
    short = (span for span in spans if span.end - span.start < options.min_length)
    return chunks, [one_line(text[slice(*span)]) for span in short]


class _Outline:
    """Where the spans of a document stand below its headings."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._starts = [heading.start for heading in document.headings]
        self._paths = heading_paths(document.headings)

    def path(self, span: Span) -> tuple[int, ...]:
        """Return the indexes of the headings above the first body text of a span."""
        text, position = self._document.text, span.start
        above, last = (bisect_left(self._starts, edge) for edge in span)
        for start in self._starts[above:last]:
            if text[position:start].strip():
                break
            position = heading_end(text, start)
            above += 1
        return self._paths[above - 1] if above else ()

    def section(self, span: Span) -> int | None:
        """Return the first heading above a span that is not the title of the document."""
        title, headings = self._document.title, self._document.headings
        return next((index for index in self.path(span) if headings[index].text != title), None)


def _pages(document: Document, span: Span) -> dict[str, Any]:
    """Return the first page of a span as metadata, and all its pages if there are several."""
    first = max(0, bisect_right(document.pages, span.start, key=lambda page: page.start) - 1)
    pages = sorted({page.page for page in document.pages[first:] if page.start < span.end})
    if not pages:
        return {}
    return {"page": pages[0]} | ({"pages": pages} if len(pages) > 1 else {})


def _join_short(spans: Sequence[Span], outline: _Outline, options: CorpusOptions) -> list[Span]:
    """Join every span that is too short to its shorter neighbour, if they are cut by section only
    to one of the same section.
    """
    by_section = options.chunker == "recursive"
    done: list[Span] = []
    ahead = list(reversed(spans))
    while ahead:
        span = ahead.pop()
        if span.end - span.start >= options.min_length:
            done.append(span)
            continue
        sides = [
            side
            for side in (done, ahead)
            if side and (not by_section or outline.section(span) == outline.section(side[-1]))
        ]
        if not sides:
            done.append(span)
            continue
        side = min(sides, key=lambda side: side[-1].end - side[-1].start)
        first, last = sorted([span, side.pop()])
        # Check the joined span again; it may still be too short.
        ahead.append(Span(first.start, last.end))
    return done


def find_copies(chunks: Sequence[Chunk]) -> dict[str, str]:
    """Return the ids of copies with the id of the first chunk that they repeat.

    Copies share most of their three-word sequences. Chunks with different numbers are never copies,
    since table rows may differ in nothing else; nor are overlapping chunks of one document.
    """
    groups: defaultdict[tuple[str, ...], list[Chunk]] = defaultdict(list)
    for chunk in chunks:
        groups[tuple(_NUMBER.findall(chunk.text))].append(chunk)
    return {
        name: first
        for group in groups.values()
        if len(group) > 1
        for name, first in _copies(group).items()
    }


def _copies(chunks: Sequence[Chunk]) -> dict[str, str]:
    """Return the copies among chunks with the same numbers."""
    copies: dict[str, str] = {}
    exact: dict[int, Chunk] = {}
    by_key: defaultdict[int, list[Chunk]] = defaultdict(list)
    # Storing all takes twenty times the memory of texts.
    sequences = lru_cache(4 * _KEYS * _MAX_CANDIDATES)(_sequences)
    for chunk in chunks:
        words = hash(tuple(words_in(chunk.text)))
        own = sequences(chunk.text)
        keys = nsmallest(_KEYS, own)
        near = [exact[words]] if words in exact else []
        near += [other for key in keys for other in by_key[key]]
        others = ((other, sequences(other.text)) for other in near if not _overlap(chunk, other))
        for other, theirs in others:
            if len(own & theirs) >= _SHARED * len(own | theirs):
                copies[chunk.chunk_id] = other.chunk_id
                break
        else:
            exact.setdefault(words, chunk)
            for key in keys:
                if len(by_key[key]) < _MAX_CANDIDATES:
                    by_key[key].append(chunk)
    return copies


def _sequences(text: str) -> frozenset[int]:
    words = words_in(text)
    last = max(1, len(words) - _SHINGLE + 1)
    return frozenset(
        zlib.crc32(" ".join(words[start : start + _SHINGLE]).encode()) for start in range(last)
    )


def _overlap(one: Chunk, other: Chunk) -> bool:
    return one.doc_id == other.doc_id and one.start < other.end and other.start < one.end
