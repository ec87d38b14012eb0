import random
from collections.abc import Mapping, Sequence
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundset.engine.schedule import Schedule, Stretch, attempt_seed
from groundset.options import WINDOW
from groundset.store.tables import Verdict
from programs.recipes.base import Past
from programs.types import Attempt, Chunk, Context

KINDS = ("simple", "reasoning", "conditional")
ROUNDS = 4
SHARES = dict.fromkeys(KINDS, 4)


def context(key: str) -> Context:
    chunk = Chunk(chunk_id=key, doc_id="d", path="d.md", title="D", start=0, end=1, text="x")
    return Context(chunk=chunk, passage="x", topic="D", language="en")


class Offering:
    """Offers every key for any evolution at first, and simply from then on until it is exhausted."""

    rounds = ROUNDS
    counts: ClassVar[dict[str, int]] = {}

    def __init__(self, keys: int, *, without: Mapping[str, Sequence[str]] | None = None) -> None:
        self.keys = [f"c{number}" for number in range(keys)]
        self._without = without or {}

    def offers(self, key: str, round_: int, past: Sequence[Past]) -> Mapping[str, tuple[Context, ...]]:
        if any(each.exhausted for each in past):
            return {}
        kinds = KINDS if round_ == 0 else KINDS[:1]
        return {kind: (context(key),) for kind in kinds if kind not in self._without.get(key, ())}


def test_seeds_differ_and_are_repeatable():
    seeds = {attempt_seed(seed, chunk, round_) for seed in range(5) for chunk in "abc" for round_ in range(3)}
    assert len(seeds) == 45
    assert all(0 <= seed < 2**31 for seed in seeds)
    assert attempt_seed(1, "a", 0) == attempt_seed(1, "a", 0)


def planning(agenda: Offering, shares: Mapping[str, int]) -> Schedule:
    return Schedule([Stretch(0, agenda, shares)], seed=0)


def key_of(attempt: Attempt) -> str:
    return attempt.contexts[0].chunk.chunk_id


def verdict_on(attempt: Attempt, luck: int) -> Verdict:
    """Return what becomes of an attempt, by chance, but the same for the same attempt."""
    chance = random.Random(f"{luck} {key_of(attempt)} {attempt.wanted} {attempt.round}")
    accepted = chance.choice([None, None, attempt.wanted, "simple"])
    return Verdict(accepted, chance.random() < 0.2)


def follow(
    keys: int, luck: int, ahead: int, patience: random.Random, stretches: Sequence[Stretch] = (), known: int = 0
) -> list[Attempt]:
    """Plan up to `ahead` attempts before their verdicts come, as the threads and their luck would have it.

    ``known`` is the number of attempts that were decided by an earlier process.
    """
    schedule = Schedule(stretches, seed=0) if stretches else planning(Offering(keys), SHARES)
    attempts: list[Attempt] = []
    for _ in range(known):
        attempt = schedule.next()
        assert attempt is not None
        attempts.append(attempt)
        schedule.decide(verdict_on(attempt, luck))
    while True:
        while len(attempts) - schedule.decided < ahead and (attempt := schedule.next()) is not None:
            attempts.append(attempt)
        if schedule.decided == len(attempts):
            assert schedule.used_up
            return attempts
        for _ in range(patience.randint(1, len(attempts) - schedule.decided)):
            schedule.decide(verdict_on(attempts[schedule.decided], luck))


@given(keys=st.integers(1, 30), luck=st.integers(0, 10**6), ahead=st.integers(1, 3 * WINDOW), patience=st.randoms())
def test_plans_depend_neither_on_how_far_ahead_nor_on_when_verdicts_come(keys, luck, ahead, patience):
    assert follow(keys, luck, ahead, patience) == follow(keys, luck, 1, random.Random(0))


@given(
    keys=st.integers(1, 30), more=st.integers(0, 10), luck=st.integers(0, 10**6), ahead=st.integers(1, 3 * WINDOW),
    patience=st.randoms(), part=st.floats(0, 1),
)  # fmt: skip
def test_what_is_asked_for_later_changes_no_plan_before_and_is_planned_alike(keys, more, luck, ahead, patience, part):
    before = follow(keys, luck, 1, random.Random(0))
    first = round(part * len(before))
    stretches = (Stretch(0, Offering(keys), SHARES), Stretch(first, Offering(keys + more), dict.fromkeys(KINDS, 9)))
    after = follow(keys, luck, ahead, patience, stretches, known=first)
    assert after[:first] == before[:first]
    assert after == follow(keys, luck, 1, random.Random(0), stretches, known=len(after) if luck % 2 else first)
    assert {key_of(attempt) for attempt in after} == set(Offering(keys + more).keys)


def test_a_later_agenda_begins_with_what_was_not_drawn_and_comes_back_to_the_rest():
    stretches = (Stretch(0, Offering(6), {"simple": 3}), Stretch(3, Offering(8), {"simple": 99}))
    schedule, drawn = Schedule(stretches, seed=0), []
    while (attempt := schedule.next()) is not None:
        drawn.append((key_of(attempt), attempt.round))
        schedule.decide(Verdict(None, False))
    keys = [f"c{number}" for number in range(8)]
    later = [(key, round_) for round_ in range(1, ROUNDS) for key in keys]
    assert drawn == [*((key, 0) for key in keys), *later, *((key, 0) for key in keys[:3])]


@given(keys=st.integers(1, 30), luck=st.integers(0, 10**6))
def test_keys_are_drawn_in_rounds_until_they_are_exhausted(keys, luck):
    attempts = follow(keys, luck, 1, random.Random(0))
    assert [attempt.number for attempt in attempts] == list(range(len(attempts)))
    assert [attempt.round for attempt in attempts] == sorted(attempt.round for attempt in attempts)
    for key in {key_of(attempt) for attempt in attempts}:
        drawn = [attempt for attempt in attempts if key_of(attempt) == key]
        exhausted = [verdict_on(attempt, luck).exhausted for attempt in drawn]
        assert not any(exhausted[:-1])
        assert exhausted[-1] or drawn[-1].round == ROUNDS - 1


def test_nothing_is_planned_beyond_the_window():
    schedule = planning(Offering(50), {"simple": 10})
    attempts = [schedule.next() for _ in range(WINDOW + 1)]
    assert attempts[-1] is None
    schedule.decide(Verdict(None, False))
    assert schedule.next() is not None
    assert schedule.next() is None


def test_contexts_wait_for_their_earlier_verdict_and_are_told_of_it():
    seen: list[Sequence[Past]] = []

    class Listening(Offering):
        def offers(self, key, round_, past):
            seen.append(past)
            return super().offers(key, round_, past)

    schedule = planning(Listening(1), {"simple": 10})
    assert schedule.next() is not None
    assert schedule.next() is None
    assert not schedule.used_up
    schedule.decide(Verdict("simple", True))
    assert schedule.next() is None
    assert schedule.used_up
    assert seen[0] == []
    assert seen[-1] == [Past("simple", (), "simple", True)]


def test_what_is_not_offered_is_never_tried():
    schedule = planning(Offering(3, without={"c0": KINDS, "c1": ("reasoning", "conditional")}), SHARES)
    tried = []
    while (attempt := schedule.next()) is not None:
        tried.append((key_of(attempt), attempt.wanted))
        schedule.decide(Verdict(None, True))
    assert tried == [("c1", "simple"), ("c2", "conditional")]


def test_an_evolution_that_always_fails_leaves_room_for_the_others():
    schedule = planning(Offering(100), SHARES)
    tried = []
    while len(tried) < 60 and (attempt := schedule.next()) is not None:
        tried.append(attempt.wanted)
        schedule.decide(Verdict(None, False))
    assert tried.count("reasoning") > 15
    assert tried.count("conditional") > 15


def test_simple_questions_come_from_failed_evolutions_while_those_are_wanted():
    schedule = planning(Offering(100), {"simple": 1, "reasoning": 9, "conditional": 0})
    wanted = []
    while len(wanted) < 40 and (attempt := schedule.next()) is not None:
        wanted.append(attempt.wanted)
        schedule.decide(Verdict(None, False))
    assert set(wanted) == {"reasoning"}


@pytest.mark.parametrize("evolution", ["reasoning", "conditional"])
def test_a_full_evolution_is_not_tried_again(evolution):
    others = [other for other in KINDS if other != evolution]
    shares = {kind: {evolution: 1, others[0]: 9, others[1]: 0}[kind] for kind in KINDS}
    schedule = planning(Offering(100), shares)
    wanted = []
    while len(wanted) < 40 and (attempt := schedule.next()) is not None:
        wanted.append(attempt.wanted)
        schedule.decide(Verdict(attempt.wanted if attempt.wanted == evolution else None, False))
    first = wanted.index(evolution)
    assert evolution not in wanted[first + WINDOW :]
    assert others[1] not in wanted


def test_after_the_first_round_a_mix_with_simple_questions_gives_way_to_the_size():
    schedule = planning(Offering(2, without={"c0": ("reasoning",), "c1": ("reasoning",)}), {"simple": 1})
    rounds = []
    while (attempt := schedule.next()) is not None:
        rounds.append(attempt.round)
        schedule.decide(Verdict("simple", False))
    assert rounds == [0, 0, *[round_ for round_ in range(1, ROUNDS) for _ in range(2)]], "the window is not over"
