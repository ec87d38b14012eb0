"""What to try next: which chunk, in which round, for which evolution.

The plan of an attempt is a pure function of the outcomes that were decided at least ``WINDOW`` attempts before
it, and of the earlier outcome of its own chunk. Up to ``WINDOW`` attempts may therefore run at the same time,
and neither their number nor the order in which they finish, nor an interruption, changes what is tried.
"""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from programs.types import EVOLUTIONS, Evolution

WINDOW = 8
ROUNDS = 5


class Plan(NamedTuple):
    """An attempt before it is made."""

    number: int
    chunk_id: str
    evolution: Evolution
    round: int


class Verdict(NamedTuple):
    """What became of an attempt: the evolution that it was accepted as, if any."""

    accepted: Evolution | None
    exhausted: bool


def quotas(size: int, mix: Mapping[Evolution, float]) -> dict[Evolution, int]:
    """Share out ``size`` samples by the weights of ``mix``, by largest remainders."""
    total = sum(mix.values())
    exact = {evolution: size * mix.get(evolution, 0) / total for evolution in EVOLUTIONS}
    shares = {evolution: int(share) for evolution, share in exact.items()}
    by_remainder = sorted(EVOLUTIONS, key=lambda evolution: shares[evolution] - exact[evolution])
    for evolution in by_remainder[: size - sum(shares.values())]:
        shares[evolution] += 1
    return shares


def attempt_seed(seed: int, chunk_id: str, round_: int) -> int:
    """Return the seed of an attempt: 31 bits that depend on the run's seed, the chunk and the round."""
    digest = hashlib.sha256(f"{seed}\0{chunk_id}\0{round_}".encode()).digest()
    return int.from_bytes(digest[:4]) & 0x7FFFFFFF


class Schedule:
    """Plans attempts one after the other, as far ahead as the decisions so far allow."""

    def __init__(
        self, order: Sequence[str], shares: Mapping[Evolution, int], *, window: int = WINDOW, rounds: int = ROUNDS
    ) -> None:
        """Start at the first chunk.

        Args:
            order: the chunk ids in the order in which they are drawn.
            shares: how many samples of each evolution are asked for.
            window: how far attempts may run ahead of decisions.
            rounds: how often a chunk may be drawn.
        """
        self._order = order
        self._shares = shares
        self._window = window
        self._rounds = rounds
        self._place = 0
        self._planned = 0
        self._tried: Counter[Evolution] = Counter()
        self._verdicts: list[Verdict] = []
        self._known = 0
        self._accepted: Counter[Evolution] = Counter()
        self._last: dict[str, int] = {}
        self._asked_simply: set[str] = set()

    def decide(self, verdict: Verdict) -> None:
        """Take the verdict on the earliest attempt that has none yet."""
        self._verdicts.append(verdict)

    @property
    def decided(self) -> int:
        """Return how many attempts have a verdict."""
        return len(self._verdicts)

    @property
    def used_up(self) -> bool:
        """Say whether every chunk has been drawn as often as it may be."""
        return self._place >= len(self._order) * self._rounds

    def next(self) -> Plan | None:
        """Return the next plan, or None if a verdict is needed first or the chunks are used up."""
        horizon = self._planned - self._window + 1
        if horizon > len(self._verdicts):
            return None
        while not self.used_up:
            round_, index = divmod(self._place, len(self._order))
            chunk_id = self._order[index]
            last = self._last.get(chunk_id)
            if last is not None and last >= len(self._verdicts):
                return None
            self._place += 1
            # The second round asks simply about what the first one asked otherwise, if nothing came of that.
            given = last is not None and self._verdicts[last].accepted is not None
            if round_ == 1 and (given or chunk_id in self._asked_simply):
                continue
            if last is None or not self._verdicts[last].exhausted:
                self._learn(horizon)
                return self._plan(chunk_id, round_)
        return None

    def _learn(self, horizon: int) -> None:
        while self._known < horizon:
            accepted = self._verdicts[self._known].accepted
            if accepted is not None:
                self._accepted[accepted] += 1
            self._known += 1

    def _plan(self, chunk_id: str, round_: int) -> Plan:
        plan = Plan(self._planned, chunk_id, self._evolution(round_), round_)
        self._last[chunk_id] = plan.number
        self._tried[plan.evolution] += 1
        if plan.evolution == "simple":
            self._asked_simply.add(chunk_id)
        self._planned += 1
        return plan

    def _evolution(self, round_: int) -> Evolution:
        """Choose the evolution that lacks most samples for the attempts already spent on it.

        Attempts in flight count as spent, so a window of attempts is shared out in proportion, and an evolution
        that keeps failing leaves room for the others. Every attempt starts with a simple question, which is
        kept when the evolution fails: so all of them count as spent on ``simple``. After the first round only
        simple questions are tried, where the mix has any: an evolution that could not grow from a chunk then
        cannot grow from it later.
        """
        if round_ and self._shares["simple"]:
            return "simple"

        def need(evolution: Evolution) -> float:
            spent = self._planned if evolution == "simple" else self._tried[evolution]
            return (self._shares[evolution] - self._accepted[evolution]) / (1 + spent)

        return max(reversed(EVOLUTIONS), key=need)
