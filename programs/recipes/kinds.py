"""How a set is mixed of kinds of question, by what they ask for."""

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

KEPT_ROUNDS = 3  # so long no kind takes more of a set than it may; then the size of the set counts for more
_MOST = 1 / 3  # of a set, for a kind that nobody gave more weight
_FIRST = 3  # chunks are planned so many ahead, or the first one of a kind would be too much of it


def weights_of(given: Mapping[str, float]) -> dict[str, float]:
    """Return the weight of every kind: 1 for those that nobody named."""
    return dict.fromkeys(KINDS, 1.0) | dict(given)


def limits(size: int, given: Mapping[str, float]) -> dict[str, int]:
    """Return the most questions of each kind in a set of a size: a third of it, or more where the weights say so."""
    return {kind: math.ceil(size * most) for kind, most in _most(weights_of(given)).items()}


def _most(weights: Mapping[str, float]) -> dict[str, float]:
    total = sum(weights.values())
    return {kind: max(_MOST, weight / total) if weight else 0.0 for kind, weight in weights.items()}


class Mixing:
    """What each chunk is asked for first, so that kinds come in the mix that is wanted.

    Chunks are planned in the order in which they are drawn: each is to be asked for the kind that was planned least so
    far, by weight, and waits if it has only kinds of which enough were planned.
    """

    def __init__(self, given: Mapping[str, float], languages: Languages) -> None:
        """Start without a plan; foci of a kind with weight 0 are never asked about."""
        self._weights, self._languages = weights_of(given), languages
        self._most = _most(self._weights)
        self._planned: Counter[str] = Counter()
        self._orders: dict[str, list[str]] = {}
        self._waiting: set[str] = set()

    def plan(self, context: Context, foci: Iterable[Focus]) -> None:
        """Plan what a chunk that has these foci is asked for."""
        kinds = dict.fromkeys(self._kind(context, focus) for focus in foci)
        wanted = [kind for kind in kinds if self._weights[kind]]
        order = sorted(wanted, key=lambda kind: (self._is_enough(kind), self._planned[kind] / self._weights[kind]))
        self._orders[context.chunk.chunk_id] = order
        if not order:
            return
        if self._is_enough(order[0]):
            self._waiting.add(context.chunk.chunk_id)
        else:
            self._planned[order[0]] += 1

    def waits(self, context: Context) -> bool:
        """Return whether a chunk is drawn only after the others were asked for something rarer, and once more."""
        return context.chunk.chunk_id in self._waiting

    def in_turn(self, context: Context, foci: Iterable[Focus]) -> list[list[Focus]]:
        """Return the foci of a planned chunk by kind, the kind first that is its turn; within it in their order."""
        order = self._orders[context.chunk.chunk_id]
        turns: dict[str, list[Focus]] = {kind: [] for kind in order}
        for focus in foci:
            turns.get(self._kind(context, focus), []).append(focus)
        return [turn for turn in turns.values() if turn]

    def _is_enough(self, kind: str) -> bool:
        return self._planned[kind] > self._most[kind] * (self._planned.total() + _FIRST)

    def _kind(self, context: Context, focus: Focus) -> str:
        return kind_of(focus.opening, focus, self._languages[context.language])


def _check(value: dict[str, float]) -> dict[str, float]:
    known = list(dict.fromkeys(kind for mode in MODES.values() for kind in mode.kinds))
    if unknown := [name for name in value if name not in known]:
        raise ValueError(f"no kind of question is called {unknown[0]!r}; there are {', '.join(known)}")
    if any(not 0 <= weight < math.inf for weight in value.values()):
        raise ValueError("weights must be 0 or more")
    if value and not sum(value.values()) and set(value) >= set(KINDS):
        raise ValueError("one weight must be above 0")
    return value


Kinds = Annotated[dict[str, float], BeforeValidator(parse_mix), AfterValidator(_check)]
