import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundset.runs.schedule import ROUNDS, WINDOW, Plan, Schedule, Verdict, attempt_seed, quotas
from programs.types import EVOLUTIONS

mixes = st.dictionaries(st.sampled_from(EVOLUTIONS), st.integers(0, 100)).filter(lambda mix: sum(mix.values()) > 0)


@given(size=st.integers(1, 500), mix=mixes)
def test_quotas_add_up_and_are_off_by_less_than_one(size, mix):
    shares = quotas(size, mix)
    assert sum(shares.values()) == size
    for evolution, share in shares.items():
        assert abs(share - size * mix.get(evolution, 0) / sum(mix.values())) < 1
        assert share == 0 or mix.get(evolution, 0) > 0


def test_quotas_of_the_default_mix():
    assert quotas(8, {"simple": 50, "reasoning": 25, "conditional": 25}) == {
        "simple": 4,
        "reasoning": 2,
        "conditional": 2,
    }


def test_seeds_differ_and_are_repeatable():
    seeds = {attempt_seed(seed, chunk, round_) for seed in range(5) for chunk in "abc" for round_ in range(3)}
    assert len(seeds) == 45
    assert all(0 <= seed < 2**31 for seed in seeds)
    assert attempt_seed(1, "a", 0) == attempt_seed(1, "a", 0)


def verdict_on(plan: Plan, luck: int) -> Verdict:
    """Return what becomes of a plan, by chance, but the same for the same plan."""
    chance = random.Random(f"{luck} {plan.chunk_id} {plan.evolution} {plan.round}")
    accepted = chance.choice([None, None, plan.evolution, "simple"])
    return Verdict(accepted, chance.random() < 0.2)


def follow(chunks: int, luck: int, ahead: int, patience: random.Random) -> list[Plan]:
    """Plan up to `ahead` attempts before their verdicts come, as the threads and their luck would have it."""
    schedule = Schedule([f"c{number}" for number in range(chunks)], quotas(12, dict.fromkeys(EVOLUTIONS, 1)))
    plans: list[Plan] = []
    while True:
        while len(plans) - schedule.decided < ahead and (plan := schedule.next()) is not None:
            plans.append(plan)
        if schedule.decided == len(plans):
            assert schedule.used_up
            return plans
        for _ in range(patience.randint(1, len(plans) - schedule.decided)):
            schedule.decide(verdict_on(plans[schedule.decided], luck))


@given(chunks=st.integers(1, 30), luck=st.integers(0, 10**6), ahead=st.integers(1, 3 * WINDOW), patience=st.randoms())
def test_plans_depend_neither_on_how_far_ahead_nor_on_when_verdicts_come(chunks, luck, ahead, patience):
    assert follow(chunks, luck, ahead, patience) == follow(chunks, luck, 1, random.Random(0))


@given(chunks=st.integers(1, 30), luck=st.integers(0, 10**6))
def test_chunks_are_drawn_in_rounds_until_they_are_exhausted(chunks, luck):
    plans = follow(chunks, luck, 1, random.Random(0))
    assert [plan.number for plan in plans] == list(range(len(plans)))
    assert [plan.chunk_id for plan in plans[:chunks]] == [f"c{number}" for number in range(chunks)]
    rounds: dict[str, list[Plan]] = {}
    for plan in plans:
        rounds.setdefault(plan.chunk_id, []).append(plan)
    for drawn in rounds.values():
        again = drawn[0].evolution != "simple" and verdict_on(drawn[0], luck).accepted is None
        due = [round_ for round_ in range(ROUNDS) if round_ != 1 or again]
        assert [plan.round for plan in drawn] == due[: len(drawn)]
        assert {plan.evolution for plan in drawn[1:]} <= {"simple"}
        exhausted = [verdict_on(plan, luck).exhausted for plan in drawn]
        assert not any(exhausted[:-1])
        assert exhausted[-1] or drawn[-1].round == ROUNDS - 1


def test_nothing_is_planned_beyond_the_window():
    schedule = Schedule([f"c{number}" for number in range(50)], quotas(10, {"simple": 1}))
    plans = [schedule.next() for _ in range(WINDOW + 1)]
    assert plans[-1] is None
    schedule.decide(Verdict(None, False))
    assert schedule.next() is not None
    assert schedule.next() is None


def test_a_chunk_waits_for_its_earlier_verdict():
    schedule = Schedule(["only"], quotas(10, {"simple": 1}))
    assert schedule.next() is not None
    assert schedule.next() is None
    assert not schedule.used_up
    schedule.decide(Verdict(None, True))
    assert schedule.next() is None
    assert schedule.used_up


def test_an_evolution_that_always_fails_leaves_room_for_the_others():
    schedule = Schedule([f"c{number}" for number in range(100)], quotas(20, dict.fromkeys(EVOLUTIONS, 1)))
    tried = []
    while len(tried) < 60 and (plan := schedule.next()) is not None:
        tried.append(plan.evolution)
        schedule.decide(Verdict(None, False))
    assert tried.count("reasoning") > 15
    assert tried.count("conditional") > 15


def test_simple_questions_come_from_failed_evolutions_while_those_are_wanted():
    schedule = Schedule([f"c{number}" for number in range(100)], {"simple": 1, "reasoning": 9, "conditional": 0})
    plans = []
    while len(plans) < 40 and (plan := schedule.next()) is not None:
        plans.append(plan.evolution)
        schedule.decide(Verdict(None, False))
    assert set(plans) == {"reasoning"}


@pytest.mark.parametrize("evolution", ["reasoning", "conditional"])
def test_a_full_evolution_is_not_tried_again(evolution):
    others = [other for other in EVOLUTIONS if other != evolution]
    schedule = Schedule([f"c{number}" for number in range(100)], {evolution: 1, others[0]: 9, others[1]: 0})
    plans = []
    while len(plans) < 40 and (plan := schedule.next()) is not None:
        plans.append(plan.evolution)
        schedule.decide(Verdict(plan.evolution if plan.evolution == evolution else None, False))
    first = plans.index(evolution)
    assert evolution not in plans[first + WINDOW :]
    assert others[1] not in plans
