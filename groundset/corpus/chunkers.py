"""Chunkers by name; each splits a document into spans.

Sizes are in characters for ``recursive``, ``sentence`` and ``semantic``, in words for ``word`` and in tokens for
``token``.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from tokenizers import Tokenizer

from groundset.corpus.options import ChunkerName
from groundset.corpus.structure import HEADING, WORD, Atom, Kept, Span, atoms_of, sections
from programs.types import Document

BY_SECTION = ("recursive", "semantic")  # chunkers that cut at headings
_WORD = re.compile(r"\S+")
_TOKEN = re.compile(r"\w+|[^\w\s]")
_COMPARED = 3  # atoms on either side of a cut
_SIMILARITY_COST = 2.0  # of a cut between the most similar ones
_SEMANTIC_FULLNESS = 0.5


class Tools(NamedTuple):
    """What some chunkers need: ``embed`` returns one vector per text, ``tokenizer`` counts tokens."""

    embed: Callable[[Sequence[str]], Any] | None = None
    tokenizer: Tokenizer | None = None


def split(document: Document, chunker: ChunkerName, size: int, overlap: int, kept: Kept, tools: Tools) -> list[Span]:
    """Split a document into spans of at most ``size``, which repeat at most ``overlap`` of the one before.

    Parts in ``kept`` that fit are not divided. ``recursive`` splits at headings, then paragraphs, then sentences, then
    words, only as deep as the size requires; ``semantic`` at headings, and where the sentences before and after differ
    most in meaning; ``sentence`` fills chunks with whole sentences; ``word`` and ``token`` count their units. Without
    a tokenizer, words and punctuation marks are tokens.
    """
    if chunker in BY_SECTION:
        parts, fullness = sections(document, size - overlap, kept, size), 1.0
        if chunker == "semantic":
            parts, fullness = _priced(document.text, parts, tools), _SEMANTIC_FULLNESS
        packed = (pack(part, size - overlap, fullness) for part in parts)
        return [span for groups in packed for span in _overlapping(groups, size, overlap)]
    if chunker == "sentence":
        atoms = atoms_of(document.text, Span(0, len(document.text)), size, kept, size)
        return [Span(atoms[first].start, atoms[end - 1].end) for first, end in fill(atoms, size, overlap)]
    units = _units(document.text, chunker, tools.tokenizer)
    groups = list(_groups(units, kept, size))
    ranges = (Span(groups[first].start, groups[end - 1].end) for first, end in fill(groups, size, overlap))
    return [Span(units[first].start, units[end - 1].end) for first, end in ranges]


def _units(text: str, chunker: ChunkerName, tokenizer: Tokenizer | None) -> list[Span]:
    if chunker == "word" or tokenizer is None:
        pattern = _WORD if chunker == "word" else _TOKEN
        return [Span(*found.span()) for found in pattern.finditer(text)]
    # An embedder's tokenizer truncates texts to the model's length, so use a copy without limits.
    tokenizer = Tokenizer.from_str(tokenizer.to_str())
    tokenizer.no_truncation()
    tokenizer.no_padding()
    offsets = tokenizer.encode(text, add_special_tokens=False).offsets
    return [Span(start, end) for start, end in offsets if start < end]


def _groups(units: Sequence[Span], kept: Kept, size: int) -> Iterator[Span]:
    """Yield ranges of units: the kept parts, or their rows if they are too long, and single units between them."""
    position = 0
    for rows in kept:
        edges = [
            bisect_left(units, each, key=lambda unit: unit.start)
            for each in (*(row.start for row in rows), rows[-1].end)
        ]
        for part in pairwise(edges if edges[-1] - edges[0] > size else (edges[0], edges[-1])):
            if position <= part[0] < part[1] <= part[0] + size:
                yield from (Span(n, n + 1) for n in range(position, part[0]))
                yield Span(*part)
                position = part[1]
    yield from (Span(n, n + 1) for n in range(position, len(units)))


def fill(parts: Sequence[Span | Atom], size: int, overlap: int) -> list[Span]:
    """Group parts greedily into ranges of at most ``size``, repeating up to ``overlap``; as indexes of parts."""
    ranges: list[Span] = []
    first = 0
    while first < len(parts):
        after = first + 1
        while after < len(parts) and parts[after].end - parts[first].start <= size:
            after += 1
        ranges.append(Span(first, after))
        if after == len(parts):
            break
        end, following, first = parts[after - 1].end, parts[after].end, after
        # Repeat no more than leaves room for the next part.
        while (
            first - 1 > ranges[-1].start
            and end - parts[first - 1].start <= overlap
            and following - parts[first - 1].start <= size
        ):
            first -= 1
    return ranges


def _priced(text: str, parts: Sequence[Sequence[Atom]], tools: Tools) -> list[list[Atom]]:
    """Set the cost of a cut after each atom: the similarity of the text before and after, scaled per document.

    Cuts inside words and after headings keep their cost.
    """
    atoms = [atom for part in parts for atom in part]
    assert tools.embed is not None
    vectors = np.asarray(tools.embed([text[atom.start : atom.end].strip() for atom in atoms]), dtype=np.float64)
    similarities = []
    for cut in range(1, len(atoms)):
        before = vectors[max(0, cut - _COMPARED) : cut].mean(axis=0)
        after = vectors[cut : cut + _COMPARED].mean(axis=0)
        norm = float(np.linalg.norm(before) * np.linalg.norm(after))
        similarities.append(float(before @ after) / norm if norm else 0.0)
    low, high = min(similarities, default=0.0), max(similarities, default=0.0)
    costs = iter([*(_SIMILARITY_COST * (value - low) / ((high - low) or 1.0) for value in similarities), HEADING])
    priced = [[(atom, next(costs)) for atom in part] for part in parts]
    return [[atom if atom.cost >= WORD else atom._replace(cost=cost) for atom, cost in part] for part in priced]


def pack(atoms: Sequence[Atom], size: int, fullness: float = 1.0) -> list[Sequence[Atom]]:
    """Group atoms into chunks of at most ``size`` characters at the lowest total cost.

    A chunk costs ``fullness`` times the square of the unused share of ``size``, plus the cost of the cut after its
    last atom. The minimum is found exactly, by dynamic programming. An atom longer than ``size`` becomes a chunk by
    itself.
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
        totals = best[first:end] + fullness * unused * unused + cut
        start = end - 1 - int(np.argmin(totals[::-1]))
        best[end], came_from[end] = totals[start - first], start
    groups: list[Sequence[Atom]] = []
    end = len(atoms)
    while end:
        groups.append(atoms[came_from[end] : end])
        end = came_from[end]
    return groups[::-1]


def _overlapping(groups: Sequence[Sequence[Atom]], size: int, overlap: int) -> list[Span]:
    """Turn groups into spans of at most ``size`` that repeat the last atoms of the group before, up to ``overlap``."""
    spans: list[Span] = []
    previous: Sequence[Atom] = ()
    for group in groups:
        start, end = group[0].start, group[-1].end
        earlier = [atom.start for atom in previous if start - atom.start <= overlap and end - atom.start <= size]
        spans.append(Span(min([start, *earlier]), end))
        previous = group
    return spans
