"""The planner of a run: which attempt comes next, and which of its questions are accepted.

The plan of an attempt is a pure function of the requests, of the verdicts before its horizon, and of the earlier
verdicts of its own contexts. The horizon of an attempt lies a window before it, which is fixed when the attempt before
it is planned. A window of attempts can therefore run at once, and neither their number, the order in which they finish
nor an interruption changes the plan. The window depends on how many samples are missing at the horizon, so that large
runs keep many attempts in flight, and few of them are in vain when the run ends.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from groundset.engine.duplicates import Duplicates, Encode, Vectors, source_of
from groundset.store.tables import Verdict
from programs.languages import LANGUAGES
from programs.recipes.base import Agenda, Past
from programs.recipes.kinds import KEPT_ROUNDS
from programs.types import Attempt, Context, Draft, Outcome, Reject, Sample

# How far attempts may run ahead of the earliest undecided one, at the end of a run and at most. The latter is more than
# the number of workers, so that an attempt that takes long does not stop the others.
WINDOW, MAX_WINDOW = 8, 1024


class PlannedRequest(NamedTuple):
    """A request with its agenda and quotas; see :class:`groundset.engine.growth.Request`.

    Attributes:
        first: the number of the first attempt planned for it.
        agenda: the contexts that attempts can be made on.
        shares: the requested samples of each evolution, the simplest evolution first.
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


class _Plan(NamedTuple):
    key: str
    attempt: Attempt


class Planner:
    """Plans attempts as far ahead as the decisions allow, and decides their outcomes in the order of the attempts.

    The first draft of an outcome that passes is accepted. Two steps refuse drafts here: ``duplicate``, and ``mix`` for
    an evolution or question kind over quota. Documents and model may not yield every evolution and kind, so quotas of a
    mix with simple questions end once every chunk has been drawn ``mix_rounds`` times. Good drafts over quota are
    postponed until then, not rejected: when all earlier attempts are decided, outcomes with postponed drafts are
    decided again, each as an attempt of its own that needs no calls. A new request does the same.
    """

    def __init__(
        self,
        requests: Sequence[PlannedRequest],
        seed: int,
        encode: Encode,
        *,
        limits: Mapping[str, int] | None = None,
        mix_rounds: int = 1,
        language: str | None = None,
    ) -> None:
        """Start at the first key of the first agenda, with nothing accepted.

        Args:
            requests: the requests in order; the first one starts with attempt 0.
            seed: the seed of the run.
            encode: returns unit-length embeddings, to find duplicates.
            limits: the maximum number of questions of a kind, for limited kinds.
            mix_rounds: rounds after which quotas of a mix with simple questions end.
            language: the language of questions, if not that of each chunk.
        """
        (_, self._agenda, self._shares), *self._later = requests
        self._goal = requests[-1].shares
        self._seed = seed
        self._limits = limits or {}
        self._mix_rounds = mix_rounds
        self._language = language
        self._start = self._visited = 0
        self._plans: list[_Plan] = []
        self._tried: Counter[str] = Counter()
        self._drawn: dict[str, list[int]] = {}  # numbers of attempts by key
        self._reopened = -1  # the visit at which postponed attempts were last decided again
        self._postponed: list[int] = []
        self._repeated: list[int] = []  # postponed attempts to decide again now
        self._last_repeat = -1
        self._verdicts: list[Verdict] = []
        self._horizon = 0  # verdicts before it may be used by the next plan
        self._known = 0  # verdicts that were counted
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
        """Return whether every key of the agenda has been visited in every round."""
        return not self._has_key(self._visited) and self._visited >= self._turns

    def restore(self, samples: Iterable[tuple[Sample, Vectors]]) -> None:
        """Restore the samples that an earlier process accepted; its verdicts follow by :meth:`follow`."""
        for sample, vector in samples:
            self._accept(sample, vector)

    def follow(self, verdict: Verdict) -> None:
        """Apply the verdict on the earliest undecided attempt."""
        if verdict.postponed:
            self._postponed.append(len(self._verdicts))
        self._verdicts.append(verdict)

    def next(self) -> Attempt | None:
        """Return the next attempt, None if a verdict is needed first or nothing is left to ask."""
        while self._later and self._later[0].first <= len(self._plans):
            self._start_request(self._later.pop(0))
        decided = len(self._verdicts)
        if max(self._horizon - 1, self._last_repeat) >= decided:
            return None
        while not self.used_up:
            round_, index = self._turn(self._start + self._visited)
            if index == 0 and self._quotas_end_at(round_) and self._reopened != self._visited:
                if len(self._plans) > decided:
                    return None
                self._reopened = self._visited
                self._repeated, self._postponed = self._postponed, []
            while self._repeated:
                number = self._repeated.pop(0)
                if self._is_repeatable(number):
                    return self._plan_again(number, round_)
            key = self._agenda.keys[index]
            drawn = self._drawn.get(key, [])
            if drawn and drawn[-1] >= decided:
                return None
            self._visited += 1
            self._count_accepted()
            past = [self._past(number) for number in drawn]
            offers = self._below_quota(self._agenda.offers(key, round_, past), round_)
            if offers:
                return self._plan(key, round_, offers, past)
        return None

    def _quotas_end_at(self, round_: int) -> bool:
        """Return whether the quotas of evolutions or those of kinds end with the start of a round."""
        return (round_ == self._mix_rounds and self._shares.get("simple", 0) > 0) or (
            round_ == KEPT_ROUNDS and bool(self._limits)
        )

    @property
    def _turns(self) -> int:
        return len(self._agenda.keys) * self._agenda.rounds

    def _turn(self, number: int) -> tuple[int, int]:
        """Return the round and the index of the key of a turn, without asking for later keys in the first round."""
        if self._has_key(number):
            return 0, number
        return divmod(number % self._turns, len(self._agenda.keys))

    def _has_key(self, index: int) -> bool:
        try:
            self._agenda.keys[index]
        except IndexError:
            return False
        return True

    def _start_request(self, request: PlannedRequest) -> None:
        """Switch to the agenda of another request; keys that have not been drawn yet come first."""
        self._start += self._visited
        if not self._has_key(self._start):
            self._start = 0
        self._visited, self._reopened = 0, -1
        self._agenda, self._shares = request.agenda, request.shares
        self._repeated, self._postponed = [*self._repeated, *self._postponed], []

    def _past(self, number: int) -> Past:
        attempt, verdict = self._plans[number].attempt, self._verdicts[number]
        foci = verdict.used_foci or tuple(focus for context in attempt.contexts for focus in context.foci)
        return Past(attempt.wanted, foci, verdict.accepted, verdict.exhausted, verdict.postponed)

    def _count_accepted(self) -> None:
        """Count the accepted samples of verdicts before the horizon."""
        while self._known < self._horizon:
            accepted = self._verdicts[self._known].accepted
            if accepted is not None:
                self._known_accepted[accepted] += 1
            self._known += 1

    def _below_quota(self, offers: Mapping[str, tuple[Context, ...]], round_: int) -> Mapping[str, tuple[Context, ...]]:
        """Return the offers whose evolution is below its quota; after ``mix_rounds`` quotas no longer apply."""
        if round_ >= self._mix_rounds and self._shares.get("simple", 0):
            return offers
        accepted, shares = self._known_accepted, self._shares
        return {name: contexts for name, contexts in offers.items() if accepted[name] < shares.get(name, 0)}

    def _plan(self, key: str, round_: int, offers: Mapping[str, tuple[Context, ...]], past: list[Past]) -> Attempt:
        """Choose the evolution with the most missing samples per attempt already spent on it.

        Attempts in flight count as spent, so a window of attempts is divided in proportion, and an evolution that keeps
        failing leaves room for the others. One that has all its samples if those in flight succeed comes after them.
        Every attempt starts with a plain question, which is kept when the evolution fails, so every attempt counts as
        spent on the simplest evolution.
        """
        simplest = next(iter(self._shares))
        in_flight = Counter(plan.attempt.wanted for plan in self._plans[self._known :])

        def need(evolution: str) -> tuple[bool, float]:
            spent = len(self._plans) if evolution == simplest else self._tried[evolution]
            missing = self._shares[evolution] - self._known_accepted[evolution]
            return missing > in_flight[evolution], missing / (1 + spent)

        offered = [evolution for evolution in self._shares if evolution in offers]
        wanted, *others = sorted(reversed(offered), key=need, reverse=True)
        attempt = Attempt(
            number=len(self._plans),
            contexts=offers[wanted],
            wanted=wanted,
            others=tuple(others),
            used_foci=tuple(focus for each in past for focus in each.foci),
            round=round_,
            seed=attempt_seed(self._seed, key, round_),
        )
        self._drawn.setdefault(key, []).append(attempt.number)
        self._tried[wanted] += 1
        self._plans.append(_Plan(key, attempt))
        self._move_horizon()
        return attempt

    def _is_repeatable(self, number: int) -> bool:
        """Return whether the agenda would still offer the key of a postponed attempt, were it not for that attempt.

        A recipe with one sample per chunk does not if another attempt gave one.
        """
        key, attempt = self._plans[number]
        others = [self._past(other)._replace(exhausted=False) for other in self._drawn[key] if other != number]
        return bool(self._agenda.offers(key, attempt.round, others))

    def _plan_again(self, number: int, round_: int) -> Attempt:
        """Return the attempt that decides a postponed one again; it takes its place in the past of its key."""
        key, postponed = self._plans[number]
        attempt = postponed.model_copy(update={"number": len(self._plans), "round": round_, "repeats": number})
        drawn = self._drawn[key]
        drawn[drawn.index(number)] = self._last_repeat = attempt.number
        self._plans.append(_Plan(key, attempt))
        self._move_horizon()
        return attempt

    def _move_horizon(self) -> None:
        """Set the horizon of the next plan; it never goes back, also when a request for more widens the window."""
        window = window_of(sum(self._shares.values()) - self._known_accepted.total())
        self._horizon = max(self._horizon, len(self._plans) - window + 1)

    def decide(self, attempt: Attempt, outcome: Outcome) -> Settlement:
        """Accept one question of the earliest undecided attempt, or none."""
        settlement = self._choose_draft(attempt, outcome)
        self.follow(settlement.verdict)
        return settlement

    def _choose_draft(self, attempt: Attempt, outcome: Outcome) -> Settlement:
        rejects, postponed = list(outcome.rejects), False
        for draft in outcome.drafts:
            vector = self._duplicates.vector(draft.question)
            refusal = self._refusal(attempt, draft, vector)
            if refusal is None:
                self._accept(draft, vector)
                verdict = Verdict(draft.evolution, outcome.exhausted, outcome.used_foci)
                return Settlement(verdict, make_sample(attempt, draft, self._language), vector, tuple(rejects))
            step, reason, later = refusal
            if later:
                postponed = True
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
        return Settlement(Verdict(None, outcome.exhausted, outcome.used_foci, postponed), None, None, tuple(rejects))

    def _refusal(self, attempt: Attempt, draft: Draft, vector: Vectors) -> tuple[str, str, bool] | None:
        """Return the step that refuses a draft, the reason, and whether the draft may be accepted later."""
        kind = str(draft.metadata.get("kind"))
        quotas_end = self._goal.get("simple", 0) > 0
        is_full = self.accepted[draft.evolution] >= self._goal.get(draft.evolution, 0)
        if is_full and (attempt.round < self._mix_rounds or not quotas_end):
            return "mix", f"there are enough {draft.evolution} questions", quotas_end
        limit = self._limits.get(kind)
        if limit is not None and self._kinds[kind] >= limit and (attempt.round < KEPT_ROUNDS or not limit):
            return "mix", f"there are enough questions that ask for a {kind}", limit > 0
        repeated = self._duplicates.find(draft.question, vector, **source_of(draft))
        if repeated is not None:
            question, similarity = repeated
            return "duplicate", f"repeats an accepted question: {question!r} (similarity {similarity:.2f})", False
        return None

    def _accept(self, made: Draft | Sample, vector: Vectors) -> None:
        self.accepted[made.evolution] += 1
        self._kinds[str(made.metadata.get("kind"))] += 1
        self._duplicates.add(made.question, vector, **source_of(made))


def window_of(missing: int) -> int:
    """Return how many attempts may be in flight while so many samples are missing.

    Half of them: in simulated mixes of 100 to 1,000 samples this took as many attempts as a window of 8 (within 1 %),
    and all of them up to 2 % more, because quotas of evolutions are filled with less knowledge. Up to 32 have 8.
    """
    return min(max(missing // 2 - WINDOW, WINDOW), MAX_WINDOW)


def attempt_seed(seed: int, key: str, round_: int) -> int:
    """Return the seed of an attempt: 31 bits from the run's seed, the agenda key and the round."""
    digest = hashlib.sha256(f"{seed}\0{key}\0{round_}".encode()).digest()
    return int.from_bytes(digest[:4]) & 0x7FFFFFFF


def make_sample(attempt: Attempt, draft: Draft, language: str | None = None) -> Sample:
    """Build the sample from an accepted draft; its id is a hash of its content and sources."""
    ids = tuple(chunk.chunk_id for chunk in draft.contexts)
    code = language or attempt.contexts[0].language
    question = LANGUAGES[code].punctuated(draft.question) if code in LANGUAGES else draft.question
    text = "\0".join((question, draft.answer, *ids))
    return Sample(
        id=hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16],
        question=question,
        answer=draft.answer,
        evolution=draft.evolution,
        language=code,
        contexts=draft.contexts,
        retrieval_gt=draft.relevant,
        retrieval=draft.retrieval,
        probability=draft.probability,
        split=draft.split,
        trail=draft.trail,
        metadata={**draft.metadata, "attempt": attempt.number, "round": attempt.round, "seed": attempt.seed},
    )
