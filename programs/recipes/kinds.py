"""Kinds of question: their weights, limits, and the plan of which chunk is asked for which kind."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator

from programs.features import KINDS, kind_of
from programs.languages.table import Languages
from programs.modes import MODES
from programs.recipes.mix import parse_mix
from programs.types import Context, Focus

KEPT_ROUNDS = 3  # rounds in which the limits of kinds are kept; after them, reaching the size takes precedence
_MAX_SHARE = 1 / 3  # of a set, for kinds whose weight does not give them more
_HEAD_START = 3  # chunks counted in advance, or the first chunk of each kind would exceed its share


def _weights(weights: Mapping[str, float]) -> dict[str, float]:
    """Return the weight of every kind, by default 1."""
    return dict.fromkeys(KINDS, 1.0) | dict(weights)


def limits(size: int, weights: Mapping[str, float]) -> dict[str, int]:
    """Return the most questions of each kind in a set of this size: a third of it, or its share by weight if larger."""
    return {kind: math.ceil(size * share) for kind, share in _max_shares(_weights(weights)).items()}


def _max_shares(weights: Mapping[str, float]) -> dict[str, float]:
    total = sum(weights.values())
    return {kind: max(_MAX_SHARE, weight / total) if weight else 0.0 for kind, weight in weights.items()}


class KindPlan:
    """The kinds of question that each chunk is asked for, so that a set has the wanted mix.

    Chunks are planned in the order in which they are drawn. Each is asked for its least planned kind, by weight; it is
    deferred if all its kinds are over quota.
    """

    def __init__(self, weights: Mapping[str, float], languages: Languages) -> None:
        """Start without chunks; foci of a kind with weight 0 are never asked about."""
        self._weights, self._languages = _weights(weights), languages
        self._max_shares = _max_shares(self._weights)
        self._planned: Counter[str] = Counter()
        self._orders: dict[str, list[str]] = {}
        self._deferred: set[str] = set()

    def add(self, context: Context, foci: Iterable[Focus]) -> None:
        """Plan the kinds of a chunk with these foci."""
        kinds = dict.fromkeys(self._kind(context, focus) for focus in foci)
        wanted = [kind for kind in kinds if self._weights[kind]]
        order = sorted(wanted, key=lambda kind: (self._is_over_quota(kind), self._planned[kind] / self._weights[kind]))
        self._orders[context.chunk.chunk_id] = order
        if not order:
            return
        if self._is_over_quota(order[0]):
            self._deferred.add(context.chunk.chunk_id)
        else:
            self._planned[order[0]] += 1

    def is_deferred(self, context: Context) -> bool:
        """Return whether a chunk was deferred because its kinds are over quota."""
        return context.chunk.chunk_id in self._deferred

    def by_kind(self, context: Context, foci: Iterable[Focus]) -> list[list[Focus]]:
        """Return the foci of a planned chunk grouped by kind, the planned kind first."""
        groups: dict[str, list[Focus]] = {kind: [] for kind in self._orders[context.chunk.chunk_id]}
        for focus in foci:
            groups.get(self._kind(context, focus), []).append(focus)
        return [group for group in groups.values() if group]

    def _is_over_quota(self, kind: str) -> bool:
        return self._planned[kind] > self._max_shares[kind] * (self._planned.total() + _HEAD_START)

    def _kind(self, context: Context, focus: Focus) -> str:
        return kind_of(focus.opening, focus, self._languages[context.language])


def _check(value: dict[str, float]) -> dict[str, float]:
    known = list(dict.fromkeys(kind for mode in MODES.values() for kind in mode.kinds))
    if unknown := [name for name in value if name not in known]:
        raise ValueError(f"no kind of question is called {unknown[0]!r}; there are {', '.join(known)}")
    if any(not 0 <= weight < math.inf for weight in value.values()):
        raise ValueError("weights must be 0 or more")
    if value and not sum(value.values()) and set(value) >= set(KINDS):
        raise ValueError("at least one weight must be above 0")
    return value


Kinds = Annotated[dict[str, float], BeforeValidator(parse_mix), AfterValidator(_check)]
