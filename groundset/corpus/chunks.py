"""Documents to chunks: split, merge, join short chunks, and name the result."""

import hashlib
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence

from groundset.corpus.chunkers import Chunker, ChunkingTools, trim
from groundset.corpus.structure import Span, heading_end, heading_paths, is_short_line
from programs.types import Chunk, Document

_NOT_SPACE = re.compile(r"\S")
_Path = tuple[int, ...]


def chunk_document(
    document: Document, chunker: Chunker, size: int, overlap: int, merge: int, min_length: int, tools: ChunkingTools
) -> tuple[list[Chunk], int]:
    """Cut a document into chunks; also return how many were dropped as too short."""
    cut = chunker.split(document, size, overlap, tools)
    spans = [span for span in (trim(document.text, span) for span in cut) if span.start < span.end]
    spans = [Span(spans[i].start, spans[min(i + merge, len(spans)) - 1].end) for i in range(0, len(spans), merge)]
    paths = _Paths(document)
    joined = _join_short(document, spans, min_length, paths if chunker.by_section else None)
    kept = [span for span in joined if span.end - span.start >= min_length]
    chunks = [_chunk(document, span, number, paths.of(span)) for number, span in enumerate(kept, 1)]
    return chunks, len(joined) - len(kept)


def _chunk(document: Document, span: Span, number: int, path: _Path) -> Chunk:
    return Chunk(
        chunk_id=f"{document.doc_id}-{number:04d}",
        doc_id=document.doc_id,
        path=document.path,
        title=document.title,
        headings=tuple(document.headings[index].text for index in path),
        start=span.start,
        end=span.end,
        text=document.text[span.start : span.end],
    )


class _Paths:
    """Finds the headings above a span, for all spans of a document."""

    def __init__(self, document: Document) -> None:
        self._text = document.text
        self._starts = [heading.start for heading in document.headings]
        self._paths = heading_paths(document.headings)

    def of(self, span: Span) -> _Path:
        """Number the headings above the first text of a span that is not itself a heading."""
        index = bisect_right(self._starts, span.start) - 1
        position = span.start
        while True:
            if index >= 0 and self._starts[index] == position:
                position = heading_end(self._text, position)
            below = self._starts[index + 1] if index + 1 < len(self._starts) else span.end
            # What lies between is looked at last: it can be long, and most spans end before the next heading.
            if below >= span.end or not self._leads(position, below):
                return self._paths[index] if index >= 0 else ()
            index += 1
            position = below

    def _leads(self, position: int, below: int) -> bool:
        """Return whether nothing stands before the heading at ``below``, except perhaps another heading."""
        between = _skip_space(self._text, position)
        return between == below or is_short_line(self._text, between, below)


def _skip_space(text: str, position: int) -> int:
    text_from = _NOT_SPACE.search(text, position)
    return text_from.start() if text_from else len(text)


def _join_short(document: Document, spans: Sequence[Span], min_length: int, paths: _Paths | None) -> list[Span]:
    """Join every span below ``min_length`` to the shorter of its neighbours in the same section."""
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
        # The joined span is looked at again; it may still be too short.
        ahead.append((Span(other.start, span.end), others) if side is done else (Span(span.start, other.end), path))
    return [span for span, _ in done]


def _share_section(document: Document, one: Sequence[int], other: Sequence[int]) -> bool:
    """Return whether two texts stand under one heading; the document's title does not count as one."""
    if one == other:
        return True
    shared = [a for a, b in zip(one, other, strict=False) if a == b]
    return any(not _is_title(document, index) for index in shared)


def _is_title(document: Document, index: int) -> bool:
    return document.headings[index].text == document.title


def draw_order(chunks: Iterable[Chunk], seed: int) -> list[Chunk]:
    """Order chunks in rounds: one of every document, then a second of each, both shuffled by the seed.

    The order depends on ids and the seed alone, not on the order of the input, and a document more or less
    leaves the order of the others as it was.
    """
    documents: defaultdict[str, list[Chunk]] = defaultdict(list)
    for chunk in chunks:
        documents[chunk.doc_id].append(chunk)
    ranked = [
        (round_, by_chance(seed, doc_id), chunk)
        for doc_id, members in documents.items()
        for round_, chunk in enumerate(sorted(members, key=lambda chunk: by_chance(seed, chunk.chunk_id)))
    ]
    return [chunk for *_, chunk in sorted(ranked, key=lambda row: row[:2])]


def by_chance(seed: int, name: str) -> tuple[bytes, str]:
    """Return a pseudo-random rank of a name, the same on every machine and Python."""
    return hashlib.sha256(f"{seed}\0{name}".encode()).digest(), name
