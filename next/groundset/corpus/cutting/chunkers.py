"""Chunkers by name; each splits a document into spans.

Sizes are in characters for ``recursive``, ``sentence`` and ``semantic``, in words for ``word`` and in tokens for
``token``.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from tokenizers import Tokenizer

from groundset.corpus.cutting.structure import HEADING, WORD, Atom, Kept, Span, sections, sentence_atoms
from groundset.corpus.options import ChunkerName
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
    text = document.text
    if chunker in BY_SECTION:
        parts = sections(document, size - overlap, kept, size)
        fullness = 1.0
        if chunker == "semantic":
            assert tools.embed is not None
            costs = iter(_semantic_costs(text, list(chain.from_iterable(parts)), tools.embed))
            fullness = _SEMANTIC_FULLNESS
            # Cuts inside words and after headings or table headers keep their cost.
            priced = [[(atom, next(costs)) for atom in part] for part in parts]
            parts = [[a if a.cost >= WORD else a._replace(cost=cost) for a, cost in part] for part in priced]
        return [span for part in parts for span in _overlapping(pack(part, size - overlap, fullness), size, overlap)]
    if chunker == "sentence":
        atoms = sentence_atoms(text, size, kept)
        return [Span(atoms[a].start, atoms[b - 1].end) for a, b in fill(atoms, size, overlap)]
    if chunker == "token" and tools.tokenizer is not None:
        # An embedder's tokenizer truncates texts to the model's length, so use a copy without limits.
        tokenizer = Tokenizer.from_str(tools.tokenizer.to_str())
        tokenizer.no_truncation()
        tokenizer.no_padding()
        offsets = tokenizer.encode(text, add_special_tokens=False).offsets
        units = [Span(*offset) for offset in offsets if offset[0] < offset[1]]
    else:
        units = [Span(*found.span()) for found in (_TOKEN if chunker == "token" else _WORD).finditer(text)]
    groups = list(_groups(units, kept, size))
    ranges = fill(groups, size, overlap)
    return [Span(units[groups[a].start].start, units[groups[b - 1].end - 1].end) for a, b in ranges]


def _groups(units: Sequence[Span], kept: Kept, size: int) -> Iterator[Span]:
    """Yield ranges of units: the kept parts, or their rows if they are too long, and single units between them."""
    position = 0
    for rows in kept:
        whole = (Span(rows[0].start, rows[-1].end),)
        ranges = [
            [Span(*(bisect_left(units, edge, key=lambda unit: unit.start) for edge in row)) for row in part]
            for part in (whole, rows)
        ]
        for part in ranges[0] if ranges[0][0].end - ranges[0][0].start <= size else ranges[1]:
            if position <= part.start < part.end <= part.start + size:
                yield from (Span(n, n + 1) for n in range(position, part.start))
                yield part
                position = part.end
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


def _semantic_costs(text: str, atoms: Sequence[Atom], embed: Callable[[Sequence[str]], Any]) -> list[float]:
    """Return the cost of a cut after each atom: the similarity of the text before and after, scaled per document."""
    if len(atoms) < 2:
        return [0.0] * len(atoms)
    vectors = np.asarray(embed([text[atom.start : atom.end].strip() for atom in atoms]), dtype=np.float64)
    similarities = []
    for cut in range(1, len(atoms)):
        before = vectors[max(0, cut - _COMPARED) : cut].mean(axis=0)
        after = vectors[cut : cut + _COMPARED].mean(axis=0)
        norm = float(np.linalg.norm(before) * np.linalg.norm(after))
        similarities.append(float(before @ after) / norm if norm else 0.0)
    low, high = min(similarities), max(similarities)
    return [*(_SIMILARITY_COST * (value - low) / ((high - low) or 1.0) for value in similarities), HEADING]


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
