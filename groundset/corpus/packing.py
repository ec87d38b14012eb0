"""Atoms to spans: where to cut so that chunks are full and the cuts fall where they hurt least."""

from collections.abc import Sequence

import numpy as np

from groundset.corpus.structure import Atom, Span


def pack(atoms: Sequence[Atom], size: int, fullness: float = 1.0) -> list[list[Atom]]:
    """Group atoms into chunks of at most ``size`` characters at the lowest total cost.

    A chunk costs ``fullness`` times the square of the share of ``size`` that it leaves unused, plus the
    cost of the cut after its last atom. The minimum over all groupings is found exactly, from the first
    atom to the last. An atom longer than ``size`` is a chunk of its own.
    """
    starts = np.array([atom.start for atom in atoms])
    best = np.zeros(len(atoms) + 1)
    came_from = [0] * (len(atoms) + 1)
    first = 0
    for end, atom in enumerate(atoms, 1):
        cut = atom.cost if end < len(atoms) else 0.0
        while first < end - 1 and atom.end - atoms[first].start > size:
            first += 1
        # All starts at once: where atoms are a few characters long there are hundreds of them.
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
    """Group atoms one after the other into chunks of at most ``size`` characters, the last atoms repeated."""
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
        while following - 1 > first and atoms[last].end - atoms[following - 1].start <= overlap:
            following -= 1
        first = following
    return spans


def overlapping(groups: Sequence[Sequence[Atom]], overlap: int) -> list[Span]:
    """Turn groups into spans that repeat the last atoms, up to ``overlap`` characters, of the one before."""
    spans: list[Span] = []
    previous: Sequence[Atom] = ()
    for group in groups:
        start, end = group[0].start, group[-1].end
        earlier = [atom.start for atom in previous if start - atom.start <= overlap]
        spans.append(Span(min([start, *earlier]), end))
        previous = group
    return spans


def trim(text: str, span: Span) -> Span:
    """Shrink a span by the white space at its ends."""
    piece = text[span.start : span.end]
    start = span.start + len(piece) - len(piece.lstrip())
    return Span(start, max(start, span.end - len(piece) + len(piece.rstrip())))
