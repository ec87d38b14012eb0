"""The planner of a run: which attempt comes next, and which of its questions are accepted.

The plan of an attempt is a pure function of what is asked for, of the outcomes that were decided at least ``WINDOW``
attempts before it, and of the earlier outcomes of its own contexts. Up to ``WINDOW`` attempts may therefore run at the
same time, and neither their number nor the order in which they finish, nor an interruption, changes what is tried.
What is asked for is an agenda with shares, and may change at the number of an attempt.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from groundset.engine.duplicates import Duplicates, Encode, Vectors, source_of
from groundset.options import WINDOW
from groundset.store.tables import Verdict
from programs.recipes.base import Agenda, Past
from programs.recipes.kinds import KEPT_ROUNDS
from programs.types import Attempt, Context, Draft, Outcome, Reject, Sample


class Demand(NamedTuple):
    """What is requested of a run from an attempt on.

    Attributes:
        first: the number of that attempt.
        agenda: what can be asked.
        shares: how many samples of each evolution are wanted, the plainest evolution first.
    """

    first: int
    agenda: Agenda
    shares: Mapping[str, int]


class Settlement(NamedTuple):
    """The decision on an attempt: its verdict, the accepted sample with its vector, the rejects."""

    verdict: Verdict
    sample: Sample | None
    vector: Vectors | None
    rejects: tuple[Reject, ...]


class _Drawn(NamedTuple):
    number: int
    wanted: str
    contexts: tuple[Context, ...]


class Planner:
    """Plans attempts as far ahead as the decisions allow, and decides their outcomes in the order of the attempts.

    The drafts of an outcome are looked at in their order, and the first that nothing is wrong with is accepted. Two
    steps refuse here: ``duplicate``, and ``mix`` for a good question of an evolution or a kind of which there are
    enough. Once every chunk has been drawn ``mix_rounds`` times, a mix that has simple questions gives way to the size:
    evolutions and kinds may be more than these documents and this model can give. What was good before that is put off
    until then, and no reject.
    """

    def __init__(
        self,
        demands: Sequence[Demand],
        seed: int,
        encode: Encode,
        *,
        limits: Mapping[str, int] | None = None,
        window: int = WINDOW,
        mix_rounds: int = 1,
    ) -> None:
        """Start at the first key of the first agenda, with nothing accepted.

        Args:
            demands: what is asked for, in order; the first one begins with the first attempt.
            seed: of the run.
            encode: texts to vectors of unit length, to find duplicates.
            limits: the most questions of a kind, for kinds that have a limit.
            window: how far attempts may run ahead of decisions.
            mix_rounds: rounds in which a mix that has simple questions is kept to.
        """
        (_, self._agenda, self._shares), *self._later = demands
        self._goal = demands[-1].shares
        self._seed = seed
        self._limits = limits or {}
        self._window = window
        self._mix_rounds = mix_rounds
        self._start = self._gone = 0
        self._planned = 0
        self._tried: Counter[str] = Counter()
        self._drawn: dict[str, list[_Drawn]] = {}
        self._verdicts: list[Verdict] = []
        self._known = 0  # verdicts that plans know of: those before the window
        self._known_accepted: Counter[str] = Counter()
        self.accepted: Counter[str] = Counter()
        self._kinds: Counter[str] = Counter()
        self._duplicates = Duplicates(encode)

    @property
    def is_full(self) -> bool:
        """Return whether all requested samples are accepted."""
        return self.accepted.total() == sum(self._goal.values())

    @property
    def decided(self) -> int:
        """Return how many attempts have a verdict."""
        return len(self._verdicts)

    @property
    def used_up(self) -> bool:
        """Return whether everything on the agenda has been drawn as often as it may be."""
        return self._gone >= self._places

    def restore(self, samples: Iterable[tuple[Sample, Vectors]]) -> None:
        """Restore the samples that an earlier process accepted; its verdicts follow by :meth:`follow`."""
        for sample, vector in samples:
            self._accept(sample, vector)

    def follow(self, verdict: Verdict) -> None:
        """Apply the verdict on the earliest undecided attempt."""
        self._verdicts.append(verdict)

    def next(self) -> Attempt | None:
        """Return the next attempt, None if a verdict is needed first or nothing is left to ask."""
        while self._later and self._later[0].first <= self._planned:
            self._change_agenda(self._later.pop(0))
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

    def _change_agenda(self, demand: Demand) -> None:
        """Switch to another agenda, from its beginning.

        Keys that were not drawn yet come first, if there are any; what the others were asked is known of their past.
        """
        self._start += self._gone
        if self._start >= len(self._agenda.keys):
            self._start = 0
        self._gone = 0
        self._agenda, self._shares = demand.agenda, demand.shares

    def _past(self, drawn: _Drawn) -> Past:
        verdict = self._verdicts[drawn.number]
        foci = verdict.asked or tuple(focus for context in drawn.contexts for focus in context.foci)
        return Past(drawn.wanted, foci, verdict.accepted, verdict.exhausted, verdict.put_off)

    def _learn(self, horizon: int) -> None:
        while self._known < horizon:
            accepted = self._verdicts[self._known].accepted
            if accepted is not None:
                self._known_accepted[accepted] += 1
            self._known += 1

    def _wanted(self, offers: Mapping[str, tuple[Context, ...]], round_: int) -> Mapping[str, tuple[Context, ...]]:
        """Return the offers whose evolution is still below its quota; after some rounds quotas no longer apply."""
        if round_ >= self._mix_rounds and self._shares.get("simple", 0):
            return offers
        return {kind: each for kind, each in offers.items() if self._known_accepted[kind] < self._shares.get(kind, 0)}

    def _plan(self, key: str, round_: int, offers: Mapping[str, tuple[Context, ...]], past: list[Past]) -> Attempt:
        """Choose the evolution that lacks most samples for the attempts already spent on it.

        Attempts in flight count as spent, so a window of attempts is shared out in proportion, and an evolution that
        keeps failing leaves room for the others. Every attempt starts with a plain question, which is kept when the
        evolution fails: so all of them count as spent on the plainest.
        """
        plainest = next(iter(self._shares))

        def need(kind: str) -> float:
            spent = self._planned if kind == plainest else self._tried[kind]
            return (self._shares[kind] - self._known_accepted[kind]) / (1 + spent)

        order = [kind for kind in self._shares if kind in offers]
        wanted = max(reversed(order), key=need)
        attempt = Attempt(
            number=self._planned,
            contexts=offers[wanted],
            wanted=wanted,
            used_foci=tuple(focus for each in past for focus in each.foci),
            round=round_,
            seed=attempt_seed(self._seed, key, round_),
        )
        self._drawn.setdefault(key, []).append(_Drawn(self._planned, wanted, attempt.contexts))
        self._tried[wanted] += 1
        self._planned += 1
        return attempt

    def decide(self, attempt: Attempt, outcome: Outcome) -> Settlement:
        """Accept one question of the earliest undecided attempt, or none."""
        settlement = self._settle(attempt, outcome)
        self.follow(settlement.verdict)
        return settlement

    def _settle(self, attempt: Attempt, outcome: Outcome) -> Settlement:
        rejects, put_off = list(outcome.rejects), False
        for draft in outcome.drafts:
            vector = self._duplicates.vector(draft.question)
            refusal = self._refusal(attempt, draft, vector)
            if refusal is None:
                self._accept(draft, vector)
                verdict = Verdict(draft.evolution, outcome.exhausted, outcome.used_foci)
                return Settlement(verdict, make_sample(attempt, draft), vector, tuple(rejects))
            step, reason, later = refusal
            if later:
                put_off = True
                continue
            rejects.append(
                Reject(
                    step=step,
                    reason=reason,
                    chunk_id=draft.contexts[0].chunk_id,
                    probability=draft.probability,
                    question=draft.question,
                )
            )
        return Settlement(Verdict(None, outcome.exhausted, outcome.used_foci, put_off), None, None, tuple(rejects))

    def _refusal(self, attempt: Attempt, draft: Draft, vector: Vectors) -> tuple[str, str, bool] | None:
        """Return the step that refuses a draft, why, and whether it may be wanted later."""
        kind = str(draft.metadata.get("kind"))
        gives_way = self._goal.get("simple", 0) > 0
        enough = self.accepted[draft.evolution] >= self._goal.get(draft.evolution, 0)
        if enough and (attempt.round < self._mix_rounds or not gives_way):
            return "mix", f"there are enough {draft.evolution} questions", gives_way
        most = self._limits.get(kind)
        if most is not None and self._kinds[kind] >= most and (attempt.round < KEPT_ROUNDS or not most):
            return "mix", f"there are enough questions that ask for a {kind}", most > 0
        repeated = self._duplicates.find(draft.question, vector, **source_of(draft))
        if repeated is not None:
            question, similarity = repeated
            return "duplicate", f"repeats an accepted question: {question!r} (similarity {similarity:.2f})", False
        return None

    def _accept(self, made: Draft | Sample, vector: Vectors) -> None:
        self.accepted[made.evolution] += 1
        self._kinds[str(made.metadata.get("kind"))] += 1
        self._duplicates.add(made.question, vector, **source_of(made))


def attempt_seed(seed: int, key: str, round_: int) -> int:
    """Return the seed of an attempt: 31 bits that depend on the run's seed, the contexts and the round."""
    digest = hashlib.sha256(f"{seed}\0{key}\0{round_}".encode()).digest()
    return int.from_bytes(digest[:4]) & 0x7FFFFFFF


def make_sample(attempt: Attempt, draft: Draft) -> Sample:
    """Build the sample from an accepted draft; its id is a hash of its content and sources."""
    ids = tuple(chunk.chunk_id for chunk in draft.contexts)
    text = "\0".join((draft.question, draft.answer, *ids))
    return Sample(
        id=hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16],
        question=draft.question,
        answer=draft.answer,
        evolution=draft.evolution,
        language=attempt.contexts[0].language,
        contexts=draft.contexts,
        retrieval_gt=draft.relevant,
        retrieval=draft.retrieval,
        probability=draft.probability,
        split=draft.split,
        trail=draft.trail,
        metadata={**draft.metadata, "attempt": attempt.number, "round": attempt.round, "seed": attempt.seed},
    )
