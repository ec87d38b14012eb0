"""Chunkers by name: documents are split into atoms, the smallest parts with the cost of a cut after
each, and packed.

Sizes are in characters for ``recursive``, in words for ``word`` and in tokens for ``token``. Where
a script has no spaces between words, each character is one.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from sentencex import get_sentence_boundaries

from groundset.corpus.options import CorpusOptions
from groundset.programs.types import Document, Heading
from groundset.retrieval.embed import open_tokenizer

# Costs are relative to the length penalty of chunkers.pack: 1 is the penalty of an empty chunk.
PARAGRAPH, ITEM, SENTENCE, LINE, INTRODUCTION, CODE, WORD, HEADING = (
    0.0,
    0.25,
    0.5,
    0.8,
    1.5,
    1.5,
    3.0,
    20.0,
)

FENCE = re.compile(r"\s*(```+|~~~+)")
_ITEM = re.compile(r"\s*(?:[-*+•]|\(?\d{1,3}[.)]|\(?[a-z][.)]|\[\^?\w{1,4}\]:?)\s")
_UNDERLINE = re.compile(r"\n[ \t]*([=\-~^\"*+#])\1{2,}[ \t]*(?=\n|\Z)")
# A block that introduces the next one: it ends with a colon, or is a short line without final
# punctuation.
_INTRODUCES = re.compile(r".*:\Z|[^\n]{0,80}(?<![.!?;,…|)\]'\"”])\Z", re.DOTALL)
_SPACE = re.compile(r"\s+")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
# The language is unknown here. A boundary is used if the rules of all these languages agree on it,
# so that "12. Juni" and "e.g. tea" stay whole.
_LANGUAGES = ("en", "de", "fr", "es", "it", "pl")
# Brackets, quotation marks and bullets: the rules never split inside them, so an unmatched one can
# span pages.
_ENCLOSING = dict.fromkeys(map(ord, '()[]"“”„«»‘’•·'), " ")
_SUSPICIOUS = 400
# The rules take quadratic time, so longer texts are split in windows; few paragraphs are longer
# than one.
_WINDOW = 4_096
# Scripts without spaces between words: each of their characters counts, with the marks and
# punctuation on it.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u3400-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003ffff"
)
_MARKS = (
    "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u102b-\u103e\u17b4-\u17d3、。"
    "，！？；：」』）】》"
)
_WORD = re.compile(rf"[{_UNSPACED}][{_MARKS}]*|[^\s{_UNSPACED}]+")


class Span(NamedTuple):
    """The offsets of a part of a document's text."""

    start: int
    end: int


class Atom(NamedTuple):
    """A span that should stay whole, and the cost of ending a chunk after it."""

    start: int
    end: int
    cost: float


# Parts that should stay whole, in order and apart, each as the rows between which it can be cut.
Kept = Sequence[Sequence[Span]]


def sections(
    document: Document, part: Span, size: int, kept: Kept, kept_size: int
) -> list[list[Atom]]:
    """Split a part of a document at its headings, and every section into atoms of at most ``size``
    characters.

    A part in ``kept`` of at most ``kept_size`` characters is one atom. A heading directly above
    another one joins that one's section.
    """
    text = document.text
    outline = [heading for heading in document.headings if part.start <= heading.start < part.end]
    outline.append(Heading(level=0, text="", start=part.end))
    found = [atoms_of(text, Span(part.start, outline[0].start), size, kept, kept_size)]
    atoms: list[Atom] = []
    for heading, below in pairwise(outline):
        body = Span(heading_end(text, heading.start), below.start)
        atoms.append(Atom(heading.start, body.start, HEADING))
        atoms += atoms_of(text, body, size, kept, kept_size)
        if below.level < heading.level or text[slice(*body)].strip():
            found.append(atoms)
            atoms = []
    return [section for section in found if section]


def heading_end(text: str, start: int) -> int:
    """Return the end of the heading at ``start``, including its underline."""
    end = text.find("\n", start)
    end = len(text) if end < 0 else end
    underline = _UNDERLINE.match(text, end)
    return underline.end() if underline else end


def heading_paths(headings: Sequence[Heading]) -> list[tuple[int, ...]]:
    """Return for each heading the indexes of its ancestors and itself."""
    paths: list[tuple[int, ...]] = []
    path: tuple[int, ...] = ()
    for index, heading in enumerate(headings):
        path = (*(above for above in path if headings[above].level < heading.level), index)
        paths.append(path)
    return paths


def atoms_of(text: str, span: Span, size: int, kept: Kept, kept_size: int) -> list[Atom]:
    """Split a part of a text into atoms of at most ``size`` characters, and ``kept`` ones of at
    most ``kept_size``.
    """
    atoms: list[Atom] = []
    position = span.start
    first = bisect_right(kept, span.start, key=lambda rows: rows[-1].end)
    for rows in kept[first : bisect_left(kept, span.end, key=lambda rows: rows[0].start)]:
        start, end = rows[0].start, rows[-1].end
        atoms += _atoms(text, size, position, max(position, start))
        if end - start <= kept_size:
            # A heading that is the caption is an atom already.
            atoms.append(Atom(max(position, start), end, PARAGRAPH))
        else:
            clipped = [Span(max(position, rows[0].start), rows[0].end), *rows[1:]]
            atoms += [piece for row in clipped for piece in _fit(text, Atom(*row, LINE), size)]
            atoms[-1] = atoms[-1]._replace(cost=PARAGRAPH)
        position = end
    return [*atoms, *_atoms(text, size, position, span.end)]


def _atoms(text: str, size: int, start: int, end: int) -> Iterator[Atom]:
    for block in blocks(text, start, end):
        atoms = [piece for atom in _block_atoms(text, block) for piece in _fit(text, atom, size)]
        yield from atoms[:-1]
        introduces = _INTRODUCES.match(text[slice(*block)].strip())
        yield atoms[-1]._replace(cost=INTRODUCTION if introduces else PARAGRAPH)


def blocks(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield the paragraphs of a part of a text: split at empty lines outside fenced code."""
    fence = ""
    first: int | None = None
    for line in line_spans(text, Span(start, end)):
        content = text[slice(*line)]
        if (mark := FENCE.match(content)) and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        if content.strip() or (fence and first is not None):
            first = line.start if first is None else first
        elif first is not None:
            yield Span(first, line.start)
            first = None
    if first is not None:
        yield Span(first, end)


def line_spans(text: str, block: Span) -> list[Span]:
    """Return the lines of a part of a text, with their ends."""
    return [Span(*line.span()) for line in _LINE.finditer(text, *block)]


def _block_atoms(text: str, block: Span) -> list[Atom]:
    lines = line_spans(text, block)
    if FENCE.match(text, block.start) or is_indented(text, lines):
        return [Atom(*line, CODE) for line in lines]
    items = [line.start for line in lines if _ITEM.match(text, *line)]
    atoms: list[Atom] = []
    for start, end in pairwise(sorted({block.start, *items, block.end})):
        atoms += [Atom(start + a, start + b, SENTENCE) for a, b in sentence_spans(text[start:end])]
        atoms[-1] = atoms[-1]._replace(cost=ITEM)
    return atoms


def is_indented(text: str, lines: Sequence[Span]) -> bool:
    """Return whether all lines are indented as code is."""
    return all(text.startswith("    ", *line) for line in lines)


def _fit(text: str, atom: Atom, size: int) -> list[Atom]:
    """Split an atom longer than ``size``: at its lines, else between words, else anywhere."""
    if atom.end - atom.start <= size:
        return [atom]
    lines = line_spans(text, Span(atom.start, atom.end))
    pieces = (
        [piece for line in lines for piece in _fit(text, Atom(*line, LINE), size)]
        if len(lines) > 1
        else []
    )
    start = atom.end if pieces else atom.start
    while start < atom.end:
        most = min(start + size, atom.end)
        space = _SPACE.search(text, min(start + size // 10, atom.end), most)
        pieces.append(Atom(start, space.end() if space else most, WORD))
        start = pieces[-1].end
    return [*pieces[:-1], pieces[-1]._replace(cost=atom.cost)]


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Split ``text`` into sentences that cover it from end to end, as (start, end)."""
    spans: list[tuple[int, int]] = []
    for start, end in _split(text):
        is_long = end - start > _SUSPICIOUS
        inner = _split(text[start:end].translate(_ENCLOSING)) if is_long else [(0, end - start)]
        spans += [(start + first, start + last) for first, last in inner]
    return spans


def _split(text: str) -> list[tuple[int, int]]:
    ends, start = [0], 0
    while start < len(text):
        window = text[start : start + _WINDOW]
        boundaries = (
            {each["end_index"] for each in get_sentence_boundaries(code, window)}
            for code in _LANGUAGES
        )
        found = sorted(reduce(set.intersection, boundaries) - {len(window)})
        if start + _WINDOW >= len(text):
            found.append(len(window))
        ends += [start + end for end in found]
        # Restart after the last complete sentence, or at the last word if one sentence fills the
        # window.
        start += (
            found[-1] if found else max(window.rfind(" "), window.rfind("\n")) + 1 or len(window)
        )
    return list(pairwise(ends))


def split(document: Document, part: Span, options: CorpusOptions, kept: Kept) -> list[Span]:
    """Split a part of a document into spans of at most the chunk size, which repeat at most the
    overlap of the one before.

    ``recursive`` splits at headings, then paragraphs, then sentences, then words, only as deep as
    the size requires, and does not divide parts in ``kept`` that fit. ``word`` and ``token`` count
    their units, and nothing else; tokens are those of the embedder.
    """
    text, size, overlap = document.text, options.cut_size, options.chunk_overlap
    if options.chunker == "recursive":
        most = size - overlap
        packed = (pack(each, most) for each in sections(document, part, most, kept, size))
        return [span for groups in packed for span in _overlapping(groups, size, overlap)]
    if options.chunker == "word":
        units = [word.span() for word in _WORD.finditer(text, *part)]
    else:
        tokenizer = open_tokenizer(options.embedder)
        tokens = tokenizer.encode(text[slice(*part)], add_special_tokens=False)
        units = [
            (part.start + start, part.start + end) for start, end in tokens.offsets if start < end
        ]
    windows = (
        units[first : first + size]
        for first in range(0, len(units), size - overlap)
        if first == 0 or first + overlap < len(units)
    )
    return [Span(window[0][0], window[-1][1]) for window in windows]


def pack(atoms: Sequence[Atom], size: int) -> list[Sequence[Atom]]:
    """Group atoms into chunks of at most ``size`` characters at the lowest total cost.

    A chunk costs the square of the unused share of ``size``, plus the cost of the cut after its
    last atom. The minimum is found exactly, by dynamic programming. An atom longer than ``size``
    becomes a chunk by itself.
    """
    starts = np.array([atom.start for atom in atoms])
    best = np.zeros(len(atoms) + 1)
    came_from = [0] * (len(atoms) + 1)
    first = 0
    for end, atom in enumerate(atoms, 1):
        cut = atom.cost if end < len(atoms) else 0.0
        while first < end - 1 and atom.end - atoms[first].start > size:
            first += 1
        # Vectorised over the starts: there are hundreds of them when atoms are short.
        unused = np.maximum(0.0, 1 - (atom.end - starts[first:end]) / size)
        totals = best[first:end] + unused * unused + cut
        start = end - 1 - int(np.argmin(totals[::-1]))
        best[end], came_from[end] = totals[start - first], start
    groups: list[Sequence[Atom]] = []
    end = len(atoms)
    while end:
        groups.append(atoms[came_from[end] : end])
        end = came_from[end]
    return groups[::-1]


def _overlapping(groups: Sequence[Sequence[Atom]], size: int, overlap: int) -> list[Span]:
    """Turn groups into spans of at most ``size`` that repeat the last atoms of the group before, up
    to ``overlap``.
    """
    spans: list[Span] = []
    for previous, group in pairwise([(), *groups]):
        start, end = group[0].start, group[-1].end
        earlier = [
            atom.start
            for atom in previous
            if start - atom.start <= overlap and end - atom.start <= size
        ]
        spans.append(Span(min([start, *earlier]), end))
    return spans
