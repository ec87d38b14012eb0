"""What to try next: which contexts, in which round, for which evolution.

The plan of an attempt is a pure function of what is asked for, of the outcomes that were decided at least ``WINDOW``
attempts before it, and of the earlier outcomes of its own contexts. Up to ``WINDOW`` attempts may therefore run at the
same time, and neither their number nor the order in which they finish, nor an interruption, changes what is tried.
What is asked for is an agenda with shares, and may change on the way, at the number of an attempt.
"""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from groundset.options import WINDOW
from groundset.store.tables import Verdict
from programs.recipes.base import Agenda, Past
from programs.types import Attempt, Context


class Stretch(NamedTuple):
    """What holds from an attempt on: its number, what can be asked, and how many samples of each evolution are wanted.

    The plainest evolution comes first.
    """

    first: int
    agenda: Agenda
    shares: Mapping[str, int]


class _Drawn(NamedTuple):
    number: int
    wanted: str
    contexts: tuple[Context, ...]


def attempt_seed(seed: int, key: str, round_: int) -> int:
    """Return the seed of an attempt: 31 bits that depend on the run's seed, the contexts and the round."""
    digest = hashlib.sha256(f"{seed}\0{key}\0{round_}".encode()).digest()
    return int.from_bytes(digest[:4]) & 0x7FFFFFFF


class Schedule:
    """Plans attempts one after the other, as far ahead as the decisions so far allow."""

    def __init__(self, stretches: Sequence[Stretch], seed: int, *, window: int = WINDOW, mix_rounds: int = 1) -> None:
        """Start at the first key of the first agenda.

        Args:
            stretches: what is asked for, in order; the first one begins with the first attempt.
            seed: of the run.
            window: how far attempts may run ahead of decisions.
            mix_rounds: rounds in which only what the mix still lacks is planned.
        """
        (_, self._agenda, self._shares), *self._later = stretches
        self._seed = seed
        self._window = window
        self._mix_rounds = mix_rounds
        self._start = self._gone = 0
        self._planned = 0
        self._tried: Counter[str] = Counter()
        self._verdicts: list[Verdict] = []
        self._known = 0
        self._accepted: Counter[str] = Counter()
        self._drawn: dict[str, list[_Drawn]] = {}

    def decide(self, verdict: Verdict) -> None:
        """Take the verdict on the earliest attempt that has none yet."""
        self._verdicts.append(verdict)

    @property
    def decided(self) -> int:
        """Return how many attempts have a verdict."""
        return len(self._verdicts)

    @property
    def used_up(self) -> bool:
        """Say whether everything on the agenda has been drawn as often as it may be."""
        return self._gone >= self._places

    def next(self) -> Attempt | None:
        """Return the next attempt, or None if a verdict is needed first or nothing is left to ask."""
        while self._later and self._later[0].first <= self._planned:
            self._go_on(self._later.pop(0))
        horizon = self._planned - self._window + 1
        if horizon > len(self._verdicts):
            return None
        while not self.used_up:
            round_, index = divmod((self._start + self._gone) % self._places, len(self._agenda.keys))
            key = self._agenda.keys[index]
            drawn = self._drawn.get(key, [])
            if drawn and drawn[-1].number >= len(self._verdicts):
                return None
            self._gone += 1
            self._learn(horizon)
            past = [self._past(each) for each in drawn]
            offers = self._wanted(self._agenda.offers(key, round_, past), round_)
            if offers:
                return self._plan(key, round_, offers, past)
        return None

    @property
    def _places(self) -> int:
        return len(self._agenda.keys) * self._agenda.rounds

    def _go_on(self, stretch: Stretch) -> None:
        """Take up another agenda, and go through all of it.

        Keys that were not drawn yet come first, if there are any; what the others were asked is known of their past.
        """
        self._start += self._gone
        if self._start >= len(self._agenda.keys):
            self._start = 0
        self._gone = 0
        self._agenda, self._shares = stretch.agenda, stretch.shares

    def _past(self, drawn: _Drawn) -> Past:
        verdict = self._verdicts[drawn.number]
        foci = verdict.asked or tuple(focus for context in drawn.contexts for focus in context.foci)
        return Past(drawn.wanted, foci, verdict.accepted, verdict.exhausted, verdict.put_off)

    def _learn(self, horizon: int) -> None:
        while self._known < horizon:
            accepted = self._verdicts[self._known].accepted
            if accepted is not None:
                self._accepted[accepted] += 1
            self._known += 1

    def _wanted(self, offers: Mapping[str, tuple[Context, ...]], round_: int) -> Mapping[str, tuple[Context, ...]]:
        """Return the offers of which samples are still wanted; after some rounds a mix gives way to the size."""
        if round_ >= self._mix_rounds and self._shares.get("simple", 0):
            return offers
        return {kind: each for kind, each in offers.items() if self._accepted[kind] < self._shares.get(kind, 0)}

    def _plan(self, key: str, round_: int, offers: Mapping[str, tuple[Context, ...]], past: list[Past]) -> Attempt:
        """Choose the evolution that lacks most samples for the attempts already spent on it.

        Attempts in flight count as spent, so a window of attempts is shared out in proportion, and an evolution that
        keeps failing leaves room for the others. Every attempt starts with a plain question, which is kept when the
        evolution fails: so all of them count as spent on the plainest.
        """
        plainest = next(iter(self._shares))

        def need(kind: str) -> float:
            spent = self._planned if kind == plainest else self._tried[kind]
            return (self._shares[kind] - self._accepted[kind]) / (1 + spent)

        order = [kind for kind in self._shares if kind in offers]
        wanted = max(reversed(order), key=need)
        attempt = Attempt(
            number=self._planned,
            contexts=offers[wanted],
            wanted=wanted,
            asked=tuple(focus for each in past for focus in each.foci),
            round=round_,
            seed=attempt_seed(self._seed, key, round_),
        )
        self._drawn.setdefault(key, []).append(_Drawn(self._planned, wanted, attempt.contexts))
        self._tried[wanted] += 1
        self._planned += 1
        return attempt
