"""The plan of a run: quotas, turns, what is in flight, surplus, going on."""

from collections import Counter

from evaluation_sets import chunk, sample

from groundset.programs.types import Reject
from groundset.run.plan import Plan, quotas
from groundset.run.store import Attempt, Result

TEXT = "If it rains, mill {} stands still. It has two wheels. It was built long ago."
PASSAGES = {f"c{n}": TEXT.format(n) for n in range(12)}
MIX = {"simple": 0.5, "reasoning": 0.25, "conditional": 0.25}


def finished(task, evolution, plan, *, exhausted=False, step="judge"):
    """The attempt of a task, with a good question of a form or a refused one."""
    if evolution is None:
        reject = Reject(
            step=step, reason="no", question=f"refused {task.number}?", chunk_id=task.chunks[0]
        )
        result = Result(rejects=(reject,), exhausted=exhausted)
        return Attempt(task.number, task.chunks, task.wanted, "refused", result)
    metadata = {"kind": task.kinds[0]} if task.kinds else {}
    about = {"question": f"q {task.number}?", "evolution": evolution, "metadata": metadata}
    good = sample(f"s{task.number}", *map(chunk, task.chunks), **about)
    state = plan.state_of(evolution, beyond=task.beyond)
    return Attempt(task.number, task.chunks, task.wanted, state, Result(sample=good))


def run(plan, answer, most=500):
    """Make attempts one after the other until the plan ends."""
    attempts = []
    while (task := plan.next()) is not None and len(attempts) < most:
        attempts.append(finished(task, answer(task), plan))
        plan.record(attempts[-1])
    return attempts


def test_a_mix_is_made_in_its_shares_by_asking_for_what_is_missing():
    plan = Plan(PASSAGES, size=8, mix=MIX, rounds=3)
    # The writer may take another wanted form than the first.
    attempts = run(plan, lambda task: task.wanted[-1])
    assert plan.accepted == {"simple": 4, "reasoning": 2, "conditional": 2}
    assert len(attempts) == 8
    assert (
        len({attempt.chunks for attempt in attempts}) == 8
    )  # a chunk is asked again only after all others


def test_what_documents_do_not_yield_is_made_simple_in_later_rounds():
    plan = Plan(PASSAGES, size=8, mix=MIX, rounds=3)
    attempts = run(plan, lambda task: "simple" if "simple" in task.wanted else None)
    assert plan.accepted == {"simple": 8}
    assert [attempt for attempt in attempts if attempt.state == "accepted"][-1].number > len(
        PASSAGES
    )


def test_a_form_that_is_hardly_ever_made_is_given_up_for_simple():
    many, mix = {f"c{n}": "text" for n in range(60)}, {"simple": 3, "multi_context": 1}
    plan = Plan(many, size=8, mix=mix, partners=lambda chunk: [f"c{int(chunk[1:]) ^ 1}"])
    attempts = run(plan, lambda task: "simple" if "simple" in task.wanted else None)
    assert Counter(attempt.wanted[0] for attempt in attempts) == {"simple": 8, "multi_context": 8}


def test_a_mix_without_simple_is_never_made_of_something_else():
    plan = Plan(PASSAGES, size=4, mix={"reasoning": 1, "conditional": 1}, rounds=3)
    run(plan, lambda task: "reasoning" if "reasoning" in task.wanted else None)
    assert plan.accepted == {"reasoning": 2}
    assert plan.missing == 2


def test_forms_that_a_passage_cannot_carry_are_not_wanted():
    plan = Plan({"c0": "Mills grind."}, size=3, mix={"conditional": 1, "table": 1})
    assert plan.next() is None


def test_a_form_of_its_own_is_wanted_alone():
    plan = Plan(PASSAGES, size=4, mix={"simple": 1, "persona": 1, "unanswerable": 1}, rounds=2)
    wanted = {attempt.wanted for attempt in run(plan, lambda task: task.wanted[0])}
    assert wanted == {("simple",), ("persona",), ("unanswerable",)}


def test_no_more_is_in_flight_than_is_missing_at_the_yield_so_far():
    plan = Plan(PASSAGES, size=3, mix={"simple": 1}, rounds=6)
    first = [plan.next() for _ in range(6)]
    assert all(first)  # nothing is known: half are expected to be good
    assert plan.next() is None
    for task in first[:4]:
        plan.record(finished(task, None, plan))
    assert plan.next() is not None  # few are good, so more are begun


def test_a_chunk_in_flight_is_not_asked_again():
    plan = Plan({"c0": "x", "c1": "x"}, size=9, mix={"simple": 1}, rounds=3)
    first, second = plan.next(), plan.next()
    assert first.chunks != second.chunks
    assert plan.next() is None
    plan.record(finished(first, "simple", plan))
    again = plan.next()
    assert again.chunks == first.chunks
    assert again.turn == 1
    assert again.asked == ("q 1?",)


def test_an_exhausted_chunk_is_not_asked_again_but_with_others():
    pairs = {"c0": ["c1"], "c1": []}
    plan = Plan(
        {"c0": "x", "c1": "x"},
        size=9,
        mix={"simple": 2, "multi_context": 1},
        rounds=5,
        partners=pairs.__getitem__,
    )
    attempts = []
    while (task := plan.next()) is not None:
        attempts.append(task)
        plan.record(finished(task, None, plan, exhausted=task.wanted == ("simple",)))
    assert [task.chunks for task in attempts] == [("c0",), ("c1",), ("c0", "c1")]


def test_a_refused_chunk_is_not_used_at_all():
    plan = Plan(
        {"c0": "x"},
        size=2,
        mix={"simple": 1, "multi_context": 1},
        rounds=5,
        partners=lambda _: ["c9"],
    )
    task = plan.next()
    plan.record(finished(task, None, plan, exhausted=True, step="score"))
    assert plan.next() is None
    partners = {"c0": ["c8"], "c1": ["c0", "c9"]}
    plan = Plan(
        dict.fromkeys(partners, "x"), size=2, mix={"multi_context": 1}, partners=partners.get
    )
    plan.record(finished(plan.next(), None, plan, exhausted=True, step="score"))
    assert plan.next().chunks == ("c1", "c9")


def test_pairs_are_asked_about_once():
    partners = {"c0": ["c1", "c2"], "c1": ["c0"], "c2": []}
    plan = Plan(
        dict.fromkeys(partners, "x"),
        size=9,
        mix={"multi_context": 1},
        rounds=5,
        partners=partners.__getitem__,
    )
    made = [attempt.chunks for attempt in run(plan, lambda task: None)]
    assert made == [("c0", "c1"), ("c0", "c2")]


def test_surplus_is_used_when_the_run_grows():
    plan = Plan(PASSAGES, size=1, mix={"simple": 1}, rounds=2)
    tasks = [plan.next(), plan.next()]
    attempts = []
    for task in tasks:
        attempts.append(finished(task, "simple", plan))
        plan.record(attempts[-1])
    assert [attempt.state for attempt in attempts] == ["accepted", "surplus"]
    grown = Plan(PASSAGES, size=2, mix={"simple": 1}, rounds=2)
    for attempt in attempts:
        grown.record(attempt)
    assert grown.next() is None
    assert grown.take_promoted() == [2]
    assert grown.accepted == {"simple": 2}


def test_kinds_are_wanted_by_weight():
    plan = Plan(
        PASSAGES, size=9, mix={"simple": 1}, kinds={"fact": 2, "why": 1, "list": 0}, rounds=1
    )
    attempts = run(plan, lambda task: "simple")
    kinds = Counter(attempt.result.sample.kind for attempt in attempts if attempt.result.sample)
    assert kinds == {"fact": 6, "why": 3}


def test_quotas_have_the_largest_remainders():
    assert quotas(7, dict.fromkeys("abc", 1)) == {"a": 3, "b": 2, "c": 2}
    assert quotas(1, {"a": 1, "b": 3}) == {"a": 0, "b": 1}
