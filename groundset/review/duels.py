"""What a blind reading comes to: the share signed of each run, and whether runs differ."""

import hashlib
from collections import defaultdict
from itertools import combinations
from typing import NamedTuple

import numpy as np

from groundset.review.desk import Desk, Item
from groundset.stats import ALPHA, Estimate, fisher, holm, mcnemar, wilson

PAIRED = "sign test over passages that both runs asked about"
APART = "Fisher's exact test, for the runs asked about other passages"


class Entrant(NamedTuple):
    """A run: how many of its items there are, were read and were signed, and the share signed."""

    name: str
    items: int
    read: int
    signed: int
    share: Estimate | None


class Duel(NamedTuple):
    """Two runs, and the test of their difference.

    Attributes:
        first, second: the runs.
        test: ``PAIRED`` or ``APART``.
        passages: of a paired test, how many passages both were asked about; ``better`` of them went better for the
            first run, ``worse`` for the second.
        p: corrected by Holm's method where there are several pairs of runs.
    """

    first: str
    second: str
    test: str
    passages: int
    better: int
    worse: int
    p: float

    @property
    def differs(self) -> bool:
        """Say whether the runs can be told apart."""
        return self.p < ALPHA


def entrants(desk: Desk) -> list[Entrant]:
    """Return what was read of each run, in the order in which they were named."""
    verdicts = _verdicts(desk)
    found = []
    for run, name in enumerate(desk.names):
        own = [good for item, good in verdicts if item.run == run]
        items = sum(item.run == run for item in desk.items)
        found.append(Entrant(name, items, len(own), sum(own), wilson(sum(own), len(own))))
    return found


def seen_openly(desk: Desk) -> int:
    """Return how many of the reader's verdicts were given where the run was not hidden."""
    reviews = (desk.own(item) for item, _ in _verdicts(desk))
    return sum(review is not None and not review.blind for review in reviews)


def duels(desk: Desk) -> list[Duel]:
    """Return a test for each pair of runs of which something was read.

    Runs are paired by passages where at least half of what was read of each is about passages that both were asked
    about; what is compared is then the share signed of each such passage. One question of each run about a passage
    makes that McNemar's exact test.
    """
    by_passage: list[dict[str, list[bool]]] = [defaultdict(list) for _ in desk.names]
    for item, good in _verdicts(desk):
        by_passage[item.run][_passage_of(desk, item)].append(good)
    found = [
        _duel(desk.names[one], by_passage[one], desk.names[other], by_passage[other])
        for one, other in combinations(range(len(desk.names)), 2)
        if by_passage[one] and by_passage[other]
    ]
    corrected = holm([duel.p for duel in found])
    return [duel._replace(p=p) for duel, p in zip(found, corrected, strict=True)]


def _verdicts(desk: Desk) -> list[tuple[Item, bool]]:
    states = [(item, desk.state(item)) for item in desk.items]
    return [(item, state != "refused") for item, state in states if state in ("signed", "mended", "refused")]


def _passage_of(desk: Desk, item: Item) -> str:
    """Return what two runs call a passage alike: a digest of its text."""
    pieces = desk.stores[item.run].pieces
    if desk.kind == "sample":
        texts = [chunk.text for chunk in pieces.sample(item.entry.item).contexts]
    else:
        texts = [chunk.text for chunk in pieces.chunks([pieces.reject(item.entry.item)[0].chunk_id])]
    return hashlib.sha256("\0".join(sorted(texts)).encode()).hexdigest()


def _duel(first: str, one: dict[str, list[bool]], second: str, other: dict[str, list[bool]]) -> Duel:
    shared = [name for name in one if name in other]
    if all(2 * sum(len(side[name]) for name in shared) >= sum(map(len, side.values())) for side in (one, other)):
        gains = np.array([np.mean(one[name]) - np.mean(other[name]) for name in shared])
        better, worse = int((gains > 0).sum()), int((gains < 0).sum())
        return Duel(first, second, PAIRED, len(shared), better, worse, mcnemar(gains))
    sides = [np.array([good for goods in side.values() for good in goods]) for side in (other, one)]
    return Duel(first, second, APART, 0, 0, 0, fisher(*sides))
