"""Chunkers by name; each splits a document into spans.

Sizes are in characters for ``recursive``, ``sentence`` and ``semantic``, in words for ``word`` and in tokens
for ``token``. Embedders and tokenizers are passed in; nothing is downloaded.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from tokenizers import Tokenizer

from groundset.corpus.structure import HEADING, WORD, Atom, Kept, Span, sections, sentence_atoms
from groundset.corpus.tables import tables_and_figures
from groundset.options import ChunkerName
from programs.errors import InputError
from programs.types import Document

Embed = Callable[[Sequence[str]], np.ndarray[Any, Any]]

_WORD = re.compile(r"\S+")
_TOKEN = re.compile(r"\w+|[^\w\s]")
# Atoms compared on either side of a cut, and the cost of a cut between the most similar ones.
_WINDOW = 3
_SIMILARITY_COST = 2.0
_SEMANTIC_FULLNESS = 0.5


@dataclass(frozen=True)
class ChunkingTools:
    """Dependencies of some chunkers: ``embed`` returns one vector per text, ``tokenizer`` counts tokens."""

    embed: Embed | None = None
    tokenizer: Tokenizer | None = None


@dataclass(frozen=True)
class Chunker:
    """A chunking function, the unit of its sizes and whether it respects headings."""

    split: Callable[[Document, int, int, ChunkingTools], list[Span]]
    unit: Literal["characters", "words", "tokens"]
    default_size: int
    by_section: bool = False


def recursive(document: Document, size: int, overlap: int, tools: ChunkingTools) -> list[Span]:  # noqa: ARG001 - one signature for all
    """Split at headings, then paragraphs, then sentences, then words, only as deep as the size requires."""
    spans: list[Span] = []
    for section in sections(document, size - overlap, _kept(document), size):
        spans += overlapping(pack(section.atoms, size - overlap), size, overlap)
    return spans


def semantic(document: Document, size: int, overlap: int, tools: ChunkingTools) -> list[Span]:
    """Split at headings, and where the sentences before and after differ most in meaning."""
    if tools.embed is None:
        raise InputError("the semantic chunker needs an embedder")
    parts = sections(document, size - overlap, _kept(document), size)
    atoms = [atom for section in parts for atom in section.atoms]
    costs = iter(_semantic_costs(document.text, atoms, tools.embed))
    spans: list[Span] = []
    for section in parts:
        # Cuts inside words and after headings or table headers keep their cost.
        priced = [
            atom if atom.cost >= WORD else atom._replace(cost=cost)
            for atom, cost in zip(section.atoms, costs, strict=False)
        ]
        spans += overlapping(pack(priced, size - overlap, _SEMANTIC_FULLNESS), size, overlap)
    return spans


def sentence(document: Document, size: int, overlap: int, tools: ChunkingTools) -> list[Span]:  # noqa: ARG001 - one signature for all
    """Fill chunks with whole sentences, ignoring headings."""
    return fill(sentence_atoms(document.text, size, _kept(document)), size, overlap)


def word(document: Document, size: int, overlap: int, tools: ChunkingTools) -> list[Span]:  # noqa: ARG001 - one signature for all
    """Split every ``size`` words."""
    return _windows(document, [Span(*match.span()) for match in _WORD.finditer(document.text)], size, overlap)


def token(document: Document, size: int, overlap: int, tools: ChunkingTools) -> list[Span]:
    """Split every ``size`` tokens of the tokenizer; without one, words and punctuation marks are tokens."""
    if tools.tokenizer is None:
        return _windows(document, [Span(*match.span()) for match in _TOKEN.finditer(document.text)], size, overlap)
    # An embedder's tokenizer truncates texts to the model's length, so use a copy without limits.
    tokenizer = Tokenizer.from_str(tools.tokenizer.to_str())
    tokenizer.no_truncation()
    tokenizer.no_padding()
    offsets = tokenizer.encode(document.text, add_special_tokens=False).offsets
    return _windows(document, [Span(*offset) for offset in offsets if offset[0] < offset[1]], size, overlap)


CHUNKERS: Mapping[ChunkerName, Chunker] = {
    "recursive": Chunker(recursive, "characters", 1000, by_section=True),
    "sentence": Chunker(sentence, "characters", 1000),
    "word": Chunker(word, "words", 200),
    "token": Chunker(token, "tokens", 256),
    "semantic": Chunker(semantic, "characters", 1000, by_section=True),
}


def _kept(document: Document) -> list[tuple[Span, ...]]:
    return [each.rows for each in tables_and_figures(document)]


def _windows(document: Document, units: Sequence[Span], size: int, overlap: int) -> list[Span]:
    """Group units into windows of ``size``; windows end before tables that they would cut, and overlap less there."""
    kept = list(_kept_units(_kept(document), units, size))

    def cut_by(position: int) -> Span | None:
        index = bisect_left(kept, position, key=lambda each: each.start) - 1
        return kept[index] if index >= 0 and kept[index].end > position else None

    spans: list[Span] = []
    start = end = 0
    while end < len(units):
        end = min(start + size, len(units))
        if inside := cut_by(end):
            end = inside.start
        spans.append(Span(units[start].start, units[end - 1].end))
        start = end - overlap
        following = bisect_left(kept, end, key=lambda each: each.start)
        if following < len(kept) and kept[following].start == end:
            start = max(start, kept[following].end - size)
        if inside := cut_by(start):
            start = inside.end
    return spans


def _kept_units(kept: Kept, units: Sequence[Span], size: int) -> Iterator[Span]:
    """Yield the kept parts, or their rows if they are too long, as ranges of at most ``size`` units."""
    for rows in kept:
        for part in (Span(rows[0].start, rows[-1].end),), rows:
            ranges = [Span(*(bisect_left(units, each, key=lambda unit: unit.start) for each in row)) for row in part]
            if len(part) > 1 or ranges[0].end - ranges[0].start <= size:
                yield from (each for each in ranges if 0 < each.end - each.start <= size)
                break


def _semantic_costs(text: str, atoms: Sequence[Atom], embed: Embed) -> list[float]:
    """Return the cost of a cut after each atom: the similarity of the text before and after, scaled per document."""
    if len(atoms) < 2:
        return [0.0] * len(atoms)
    vectors = np.asarray(embed([text[atom.start : atom.end].strip() for atom in atoms]), dtype=np.float64)
    similarities = []
    for cut in range(1, len(atoms)):
        before = vectors[max(0, cut - _WINDOW) : cut].mean(axis=0)
        after = vectors[cut : cut + _WINDOW].mean(axis=0)
        norm = float(np.linalg.norm(before) * np.linalg.norm(after))
        similarities.append(float(before @ after) / norm if norm else 0.0)
    low, high = min(similarities), max(similarities)
    spread = (high - low) or 1.0
    return [*(_SIMILARITY_COST * (value - low) / spread for value in similarities), HEADING]


def pack(atoms: Sequence[Atom], size: int, fullness: float = 1.0) -> list[list[Atom]]:
    """Group atoms into chunks of at most ``size`` characters at the lowest total cost.

    A chunk costs ``fullness`` times the square of the unused share of ``size``, plus the cost of the cut
    after its last atom. The minimum is found exactly, by dynamic programming. An atom longer than ``size``
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
        totals = best[first:end] + fullness * unused * unused + cut
        start = end - 1 - int(np.argmin(totals[::-1]))
        best[end], came_from[end] = totals[start - first], start
    groups: list[list[Atom]] = []
    end = len(atoms)
    while end:
        groups.append(list(atoms[came_from[end] : end]))
        end = came_from[end]
    return groups[::-1]


def fill(atoms: Sequence[Atom], size: int, overlap: int) -> list[Span]:
    """Group atoms greedily into chunks of at most ``size`` characters, repeating up to ``overlap`` characters."""
    spans: list[Span] = []
    first = 0
    while first < len(atoms):
        last = first
        while last + 1 < len(atoms) and atoms[last + 1].end - atoms[first].start <= size:
            last += 1
        spans.append(Span(atoms[first].start, atoms[last].end))
        if last + 1 == len(atoms):
            break
        following = last + 1
        # Repeat no more than leaves room for the next atom.
        while (
            following - 1 > first
            and atoms[last].end - atoms[following - 1].start <= overlap
            and atoms[last + 1].end - atoms[following - 1].start <= size
        ):
            following -= 1
        first = following
    return spans


def overlapping(groups: Sequence[Sequence[Atom]], size: int, overlap: int) -> list[Span]:
    """Turn groups into spans that repeat the last atoms of the previous group, up to ``overlap`` characters.

    A span with repeated atoms is at most ``size`` long.
    """
    spans: list[Span] = []
    previous: Sequence[Atom] = ()
    for group in groups:
        start, end = group[0].start, group[-1].end
        earlier = [atom.start for atom in previous if start - atom.start <= overlap and end - atom.start <= size]
        spans.append(Span(min([start, *earlier]), end))
        previous = group
    return spans


def trim(text: str, span: Span) -> Span:
    """Strip white space from both ends of a span."""
    content = text[span.start : span.end]
    start = span.start + len(content) - len(content.lstrip())
    return Span(start, max(start, span.end - len(content) + len(content.rstrip())))
