"""Planning of attempts and acceptance of drafts."""

import random
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundset.engine.planner import MAX_WINDOW, WINDOW, PlannedRequest, Planner, attempt_seed, make_sample, window_of
from groundset.store.tables import Verdict
from programs.recipes.base import LazyKeys, Past
from programs.types import Attempt, Chunk, Context, Draft, Outcome, Reject, Retrieval

KINDS = ("simple", "reasoning", "conditional")
ROUNDS = 4
SHARES = dict.fromkeys(KINDS, 4)


def encode(texts: Sequence[str]) -> np.ndarray:
    """Return a random unit vector for each text, equal only for equal texts."""
    rows = np.stack([np.random.default_rng(list(text.encode())).normal(size=64) for text in texts]).astype(np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def context(key: str) -> Context:
    chunk = Chunk(chunk_id=key, doc_id="d", path="d.md", title="D", start=0, end=1, text="x")
    return Context(chunk=chunk, passage="x", topic="D", language="en")


class FakeAgenda:
    """Offers every key until exhausted: for all evolutions in the first round, for simple questions later."""

    rounds = ROUNDS
    counts: ClassVar[dict[str, int]] = {}

    def __init__(self, keys: int, *, without: Mapping[str, Sequence[str]] | None = None) -> None:
        self.keys = [f"c{number}" for number in range(keys)]
        self._without = without or {}

    def offers(self, key: str, round_: int, past: Sequence[Past]) -> Mapping[str, tuple[Context, ...]]:
        if any(entry.exhausted for entry in past):
            return {}
        kinds = KINDS if round_ == 0 else KINDS[:1]
        return {kind: (context(key),) for kind in kinds if kind not in self._without.get(key, ())}


def test_attempt_seeds_are_distinct_and_reproducible():
    seeds = {attempt_seed(seed, chunk, round_) for seed in range(5) for chunk in "abc" for round_ in range(3)}
    assert len(seeds) == 45
    assert all(0 <= seed < 2**31 for seed in seeds)
    assert attempt_seed(1, "a", 0) == attempt_seed(1, "a", 0)


def planner_for(agenda: FakeAgenda, shares: Mapping[str, int]) -> Planner:
    return Planner([PlannedRequest(0, agenda, shares)], 0, encode)


def key_of(attempt: Attempt) -> str:
    return attempt.contexts[0].chunk.chunk_id


def verdict_on(attempt: Attempt, seed: int) -> Verdict:
    """Return a random verdict that depends only on the attempt and the seed."""
    generator = random.Random(f"{seed} {key_of(attempt)} {attempt.wanted} {attempt.round}")
    accepted = generator.choice([None, None, attempt.wanted, "simple"])
    exhausted = random.Random(f"{seed} {attempt.seed}").random() < 0.2  # the same when it is decided again
    return Verdict(accepted, exhausted, postponed=accepted is None and generator.random() < 0.5)


def all_attempts(
    keys: int, seed: int, ahead: int, rng: random.Random, requests: Sequence[PlannedRequest] = (), known: int = 0
) -> list[Attempt]:
    """Return all planned attempts, with up to ``ahead`` of them undecided while verdicts arrive at random.

    ``known`` is the number of attempts decided by an earlier process.
    """
    planner = Planner(requests, 0, encode) if requests else planner_for(FakeAgenda(keys), SHARES)
    attempts: list[Attempt] = []
    for _ in range(known):
        attempt = planner.next()
        assert attempt is not None
        attempts.append(attempt)
        planner.follow(verdict_on(attempt, seed))
    while True:
        while len(attempts) - planner.decided < ahead and (attempt := planner.next()) is not None:
            attempts.append(attempt)
        if planner.decided == len(attempts):
            assert planner.used_up
            return attempts
        for _ in range(rng.randint(1, len(attempts) - planner.decided)):
            planner.follow(verdict_on(attempts[planner.decided], seed))


AHEAD = st.one_of(st.integers(1, 3 * WINDOW), st.sampled_from((64, 256, MAX_WINDOW)))


@settings(deadline=None, max_examples=50)
@given(
    keys=st.integers(1, 80), seed=st.integers(0, 10**6), ahead=AHEAD, size=st.sampled_from((4, 12, 40, 200)),
    rng=st.randoms(), part=st.floats(0, 1),
)  # fmt: skip
def test_plans_are_independent_of_lookahead_verdict_timing_and_interruptions(keys, seed, ahead, size, rng, part):
    requests = [PlannedRequest(0, FakeAgenda(keys), dict.fromkeys(KINDS, size))]
    expected = all_attempts(keys, seed, 1, random.Random(0), requests)
    assert all_attempts(keys, seed, ahead, rng, requests) == expected
    assert all_attempts(keys, seed, ahead, rng, requests, known=round(part * len(expected))) == expected


@settings(deadline=None, max_examples=50)
@given(
    keys=st.integers(1, 60), more=st.integers(0, 10), seed=st.integers(0, 10**6), ahead=AHEAD, rng=st.randoms(),
    part=st.floats(0, 1), sizes=st.sampled_from(((4, 9), (4, 200), (50, 60))),
)  # fmt: skip
def test_later_requests_keep_earlier_plans(keys, more, seed, ahead, rng, part, sizes):
    small, large = (dict.fromkeys(KINDS, size) for size in sizes)
    before = all_attempts(keys, seed, 1, random.Random(0), [PlannedRequest(0, FakeAgenda(keys), small)])
    first = round(part * len(before))
    requests = (
        PlannedRequest(0, FakeAgenda(keys), small),
        PlannedRequest(first, FakeAgenda(keys + more), large),
    )
    after = all_attempts(keys, seed, ahead, rng, requests, known=first)
    assert after[:first] == before[:first]
    assert after == all_attempts(keys, seed, 1, random.Random(0), requests, known=len(after) if seed % 2 else first)
    assert {key_of(attempt) for attempt in after} == set(FakeAgenda(keys + more).keys)


@pytest.mark.parametrize(("keys", "size"), [(1, 4), (9, 4), (9, 40)])
def test_keys_may_be_determined_when_they_are_drawn(keys, size):
    def lazy():
        left = iter([f"c{number}" for number in range(keys)])
        agenda = FakeAgenda(keys)
        agenda.keys = LazyKeys(lambda: next(left, None))
        return [PlannedRequest(0, agenda, dict.fromkeys(KINDS, size))]

    eager = [PlannedRequest(0, FakeAgenda(keys), dict.fromkeys(KINDS, size))]
    assert all_attempts(keys, 0, 1, random.Random(0), lazy()) == all_attempts(keys, 0, 1, random.Random(0), eager)


def test_first_round_reads_no_later_keys():
    determined = []

    def determine():
        assert len(determined) < 3, "a key was determined too early"
        determined.append(f"c{len(determined)}")
        return determined[-1]

    agenda = FakeAgenda(0)
    agenda.keys = LazyKeys(determine)
    planner = planner_for(agenda, SHARES)
    assert [key_of(planner.next()) for _ in range(3)] == ["c0", "c1", "c2"]


def test_later_agenda_starts_with_undrawn_keys():
    requests = (PlannedRequest(0, FakeAgenda(6), {"simple": 3}), PlannedRequest(3, FakeAgenda(8), {"simple": 99}))
    planner, drawn = Planner(requests, 0, encode), []
    while (attempt := planner.next()) is not None:
        drawn.append((key_of(attempt), attempt.round))
        planner.follow(Verdict(None, False))
    keys = [f"c{number}" for number in range(8)]
    later = [(key, round_) for round_ in range(1, ROUNDS) for key in keys]
    assert drawn == [*((key, 0) for key in keys), *later, *((key, 0) for key in keys[:3])]


@given(keys=st.integers(1, 30), seed=st.integers(0, 10**6))
def test_keys_are_drawn_in_rounds_until_exhausted(keys, seed):
    attempts = all_attempts(keys, seed, 1, random.Random(0))
    assert [attempt.number for attempt in attempts] == list(range(len(attempts)))
    assert [attempt.round for attempt in attempts] == sorted(attempt.round for attempt in attempts)
    for key in {key_of(attempt) for attempt in attempts}:
        drawn = [attempt for attempt in attempts if key_of(attempt) == key and attempt.repeats is None]
        exhausted = [verdict_on(attempt, seed).exhausted for attempt in drawn]
        assert not any(exhausted[:-1])
        assert exhausted[-1] or drawn[-1].round == ROUNDS - 1


def test_planning_stops_at_the_window():
    planner = planner_for(FakeAgenda(50), {"simple": 10})
    attempts = [planner.next() for _ in range(WINDOW + 1)]
    assert attempts[-1] is None
    planner.follow(Verdict(None, False))
    assert planner.next() is not None
    assert planner.next() is None


def test_the_window_follows_the_missing_samples():
    sizes = (0, 20, 32, 33, 64, 1000, 10**6)
    assert [window_of(missing) for missing in sizes] == [8, 8, 8, 8, 24, 492, MAX_WINDOW]


@pytest.mark.parametrize("size", [20, 32, 100, 600])
def test_attempts_in_flight_become_fewer_as_samples_are_accepted(size):
    planner, planned, in_flight = planner_for(FakeAgenda(2 * size), {"simple": size}), 0, []
    for decided in range(size):
        while planner.next() is not None:
            planned += 1
        in_flight.append(planned - decided)
        planner.follow(Verdict("simple", False))
    assert in_flight[0] == window_of(size)
    assert in_flight == sorted(in_flight, reverse=True)
    assert in_flight[-1] == WINDOW, "attempts beyond the requested size are planned in the last window only"
    assert all(planned <= max(WINDOW, size - at) for at, planned in enumerate(in_flight))


def test_a_larger_request_does_not_move_the_horizon_back():
    requests = (PlannedRequest(0, FakeAgenda(99), {"simple": 9}), PlannedRequest(9, FakeAgenda(999), {"simple": 500}))
    planner = Planner(requests, 0, encode)
    for _ in range(9):
        assert planner.next() is not None
        planner.follow(Verdict("simple", False))
    ahead = 0
    while planner.next() is not None:
        ahead += 1
    assert window_of(500 - 9) <= ahead <= window_of(500 - 2), "2 of 9 samples were accepted before the horizon"


def test_contexts_wait_for_and_receive_earlier_verdicts():
    seen: list[Sequence[Past]] = []

    class Recording(FakeAgenda):
        def offers(self, key, round_, past):
            seen.append(past)
            return super().offers(key, round_, past)

    planner = planner_for(Recording(1), {"simple": 10})
    assert planner.next() is not None
    assert planner.next() is None
    assert not planner.used_up
    planner.follow(Verdict("simple", True))
    assert planner.next() is None
    assert planner.used_up
    assert seen[0] == []
    assert seen[-1] == [Past("simple", (), "simple", True)]


def test_only_offered_evolutions_are_tried():
    planner = planner_for(FakeAgenda(3, without={"c0": KINDS, "c1": ("reasoning", "conditional")}), SHARES)
    tried = []
    while (attempt := planner.next()) is not None:
        tried.append((key_of(attempt), attempt.wanted))
        planner.follow(Verdict(None, True))
    assert tried == [("c1", "simple"), ("c2", "conditional")]


def test_failing_evolution_does_not_starve_others():
    planner = planner_for(FakeAgenda(100), SHARES)
    tried = []
    while len(tried) < 60 and (attempt := planner.next()) is not None:
        tried.append(attempt.wanted)
        planner.follow(Verdict(None, False))
    assert tried.count("reasoning") > 15
    assert tried.count("conditional") > 15


def test_simple_is_not_planned_while_evolutions_are_wanted():
    planner = planner_for(FakeAgenda(100), {"simple": 1, "reasoning": 9, "conditional": 0})
    wanted = []
    while len(wanted) < 40 and (attempt := planner.next()) is not None:
        wanted.append(attempt.wanted)
        planner.follow(Verdict(None, False))
    assert set(wanted) == {"reasoning"}


@pytest.mark.parametrize("evolution", ["reasoning", "conditional"])
def test_full_evolution_is_not_planned_again(evolution):
    others = [other for other in KINDS if other != evolution]
    shares = {kind: {evolution: 1, others[0]: 9, others[1]: 0}[kind] for kind in KINDS}
    planner = planner_for(FakeAgenda(100), shares)
    wanted = []
    while len(wanted) < 40 and (attempt := planner.next()) is not None:
        wanted.append(attempt.wanted)
        planner.follow(Verdict(attempt.wanted if attempt.wanted == evolution else None, False))
    first = wanted.index(evolution)
    assert evolution not in wanted[first + WINDOW :]
    assert others[1] not in wanted


def test_planning_continues_beyond_a_full_simple_mix():
    planner = planner_for(FakeAgenda(2, without={"c0": ("reasoning",), "c1": ("reasoning",)}), {"simple": 1})
    rounds = []
    while (attempt := planner.next()) is not None:
        rounds.append(attempt.round)
        planner.follow(Verdict("simple", False))
    assert rounds == [0, 0, *[round_ for round_ in range(1, ROUNDS) for _ in range(2)]], (
        "planning continues within the window"
    )


CHUNK = Chunk(
    chunk_id="d-0",
    doc_id="d",
    path="d.md",
    title="Harbour",
    start=0,
    end=5,
    text="The old lighthouse at the harbour was built in 1910 by the city and its merchants.",
)
CONTEXT = Context(chunk=CHUNK, passage=CHUNK.text, topic="Harbour", language="en")
ATTEMPT = Attempt(number=3, contexts=(CONTEXT,), wanted="reasoning", round=0, seed=9)


def draft(question: str, evolution: str = "reasoning") -> Draft:
    return Draft(
        question=question,
        answer="1910",
        evolution=evolution,
        contexts=(CHUNK,),
        relevant=(("d-0",),),
        retrieval=Retrieval(rank=1, retrieved_id="d-0", retrieved_content="x", score=1),
        probability=0.75,
        metadata={"focus": "x"},
    )


def limited_planner(shares: Mapping[str, int], limits: Mapping[str, int]) -> Planner:
    return Planner([PlannedRequest(0, FakeAgenda(1), shares)], 0, encode, limits=limits)


@pytest.fixture
def planner() -> Planner:
    return limited_planner({"simple": 1, "reasoning": 1, "conditional": 0}, {})


def test_draft_is_preferred_to_its_seed(planner):
    decision = planner.decide(ATTEMPT, Outcome(drafts=(draft("Evolved?"), draft("Seed?", "simple"))))
    assert decision.verdict == ("reasoning", False, (), False)
    assert decision.sample is not None
    assert decision.sample.question == "Evolved?"
    assert not planner.is_full


def test_seed_of_duplicate_draft_is_postponed_if_its_share_is_full(planner):
    planner.decide(ATTEMPT, Outcome(drafts=(draft("Asked?", "simple"),)))
    decision = planner.decide(ATTEMPT, Outcome(drafts=(draft("asked"), draft("Seed?", "simple"))))
    assert [reject.step for reject in decision.rejects] == ["duplicate"]
    assert decision.verdict.postponed, "the share of simple questions is full"
    assert decision.rejects[0].reason.startswith("repeats an accepted question: 'Asked?'")
    assert decision.rejects[0].probability == 0.75
    assert decision.sample is None
    full = planner.decide(ATTEMPT, Outcome(drafts=(draft("Evolved?"),), exhausted=True))
    assert full.verdict == ("reasoning", True, (), False)
    assert planner.is_full


def test_full_share_is_postponed_only_in_the_first_round(planner):
    conditional = Outcome(drafts=(draft("Condition?", "conditional"),))
    before = planner.decide(ATTEMPT, conditional)
    assert (before.sample, before.rejects, before.verdict.postponed) == (None, (), True)
    later = ATTEMPT.model_copy(update={"round": 1})
    assert planner.decide(later, conditional).verdict.accepted == "conditional"


def test_mix_without_simple_refuses_simple_drafts(planner):
    strict = limited_planner({"simple": 0, "reasoning": 1, "conditional": 0}, {})
    refused = strict.decide(ATTEMPT.model_copy(update={"round": 1}), Outcome(drafts=(draft("Seed?", "simple"),)))
    assert [reject.step for reject in refused.rejects] == ["mix"]
    assert not refused.verdict.postponed


def decided_until_the_end(planner: Planner, ahead: int) -> list[Attempt]:
    """Return the attempts of a run whose attempts all give a reasoning question."""
    attempts: list[Attempt] = []
    while not planner.is_full:
        while len(attempts) - planner.decided < ahead and (attempt := planner.next()) is not None:
            attempts.append(attempt)
        if planner.decided == len(attempts):
            break
        attempt = attempts[planner.decided]
        number = attempt.number if attempt.repeats is None else attempt.repeats
        planner.decide(attempt, Outcome(drafts=(draft(f"Number {number}?"),)))
    return attempts


@pytest.mark.parametrize("ahead", [1, WINDOW])
def test_postponed_drafts_are_used_before_another_attempt_is_made(ahead):
    planner = planner_for(FakeAgenda(5), {"simple": 4, "reasoning": 1})
    attempts = decided_until_the_end(planner, ahead)
    assert planner.accepted == {"reasoning": 5}
    assert [attempt.repeats for attempt in attempts] == [None] * 5 + [1, 2, 3, 4]
    again = attempts[5]
    assert (again.number, again.round, again.contexts, again.seed) == (5, 1, attempts[1].contexts, attempts[1].seed)


def test_a_draft_that_is_postponed_again_is_decided_when_the_next_quota_ends():
    limited = Planner([PlannedRequest(0, FakeAgenda(3), {"simple": 3})], 0, encode, limits={"time": 1})
    repeated = []
    while (attempt := limited.next()) is not None:
        number = attempt.number if attempt.repeats is None else attempt.repeats
        limited.decide(attempt, Outcome(drafts=(of_kind(f"When {number}?", "time"),), exhausted=True))
        repeated.append((attempt.round, attempt.repeats))
    assert repeated == [(0, None), (0, None), (0, None), (1, 1), (1, 2), (3, 3), (3, 4)]
    assert limited.is_full


def test_key_with_a_sample_is_not_repeated_if_it_may_have_one_only(monkeypatch):
    monkeypatch.setattr("groundset.engine.planner.window_of", lambda missing: 1)

    class Once(FakeAgenda):
        def offers(self, key, round_, past):
            offers = dict.fromkeys(KINDS[:2], (context(key),))
            return {} if any(entry.accepted for entry in past) else offers

    planner = Planner([PlannedRequest(0, Once(3), {"simple": 1, "reasoning": 9})], 0, encode, mix_rounds=2)
    given = {0: "simple", 4: "reasoning"}  # the first question of c0, the second one of c2; c1 has two postponed ones
    repeats = []
    while (attempt := planner.next()) is not None:
        repeats.append(attempt.repeats)
        accepted = "simple" if attempt.repeats is not None else given.get(attempt.number)
        planner.follow(Verdict(accepted, False, (), accepted is None))
    assert repeats == [None] * 5 + [1], "c2 has a sample since, and c1 has one after its first repeat"


def test_a_larger_request_uses_postponed_drafts_first():
    smaller, larger = {"simple": 1, "reasoning": 1}, {"simple": 1, "reasoning": 3}
    planner = planner_for(FakeAgenda(9), smaller)
    for number in range(3):
        attempt = planner.next()
        assert attempt is not None
        planner.decide(attempt, Outcome(drafts=(draft(f"Number {number}?"),)))
    grown = Planner([PlannedRequest(0, FakeAgenda(9), smaller), PlannedRequest(3, FakeAgenda(9), larger)], 0, encode)
    for verdict in (Verdict("reasoning", False), Verdict(None, False, (), True), Verdict(None, False, (), True)):
        assert grown.next() is not None
        grown.follow(verdict)
    found = []
    for _ in range(3):
        attempt = grown.next()
        assert attempt is not None
        found.append((attempt.round, attempt.repeats))
        grown.follow(Verdict("reasoning", False))
    assert found == [(0, 1), (0, 2), (0, None)]


def test_evolutions_in_flight_are_planned_last():
    planner = planner_for(FakeAgenda(9), {"simple": 1, "reasoning": 1, "conditional": 1})
    attempts = [planner.next() for _ in range(4)]
    assert [attempt and (attempt.wanted, attempt.others) for attempt in attempts[:3]] == [
        ("conditional", ("reasoning", "simple")),
        ("reasoning", ("simple", "conditional")),
        ("simple", ("conditional", "reasoning")),
    ]
    assert attempts[3] is not None, "those in flight may fail"


def test_program_rejects_are_kept(planner):
    reject = Reject(step="judge", reason="not clear", chunk_id="d-0")
    assert planner.decide(ATTEMPT, Outcome(rejects=(reject,))).rejects == (reject,)


def test_question_mark_has_the_spacing_of_the_language() -> None:
    assert make_sample(ATTEMPT, draft("Evolved?"), "fr").question == "Evolved ?"
    assert make_sample(ATTEMPT, draft("Evolved ?"), "fr").question == "Evolved ?"
    assert make_sample(ATTEMPT, draft("Evolved?"), "nn").question == "Evolved?"
    assert make_sample(ATTEMPT, draft("mill Orsle"), "fr").question == "mill Orsle"


def test_sample_records_its_attempt():
    sample = make_sample(ATTEMPT, draft("Evolved?"))
    assert sample.id == make_sample(ATTEMPT, draft("Evolved?")).id
    assert sample.id != make_sample(ATTEMPT, draft("Other?")).id
    assert sample.language == "en"
    assert sample.retrieval_gt == (("d-0",),)
    assert sample.metadata == {"focus": "x", "attempt": 3, "round": 0, "seed": 9}


def test_restored_samples_count(planner):
    sample = make_sample(ATTEMPT, draft("Evolved?"))
    planner.restore([(sample, np.ones(64, dtype=np.float32) / 8)])
    assert planner.accepted == {"reasoning": 1}
    again = planner.decide(ATTEMPT, Outcome(drafts=(draft("evolved", "simple"),)))
    assert [reject.step for reject in again.rejects] == ["duplicate"]


def of_kind(text, kind):
    return draft(text, "simple").model_copy(update={"metadata": {"kind": kind}})


def test_kind_limits_hold_until_all_chunks_are_drawn(planner):
    limited = limited_planner({"simple": 6}, {"time": 1, "person": 2, "place": 0})

    def decided(text, kind, round_=0):
        attempt = ATTEMPT.model_copy(update={"round": round_})
        return limited.decide(attempt, Outcome(drafts=(of_kind(text, kind),)))

    assert decided("When?", "time").sample is not None
    later = decided("In which year?", "time")
    assert (later.sample, later.rejects, later.verdict.postponed) == (None, (), True)
    assert decided("Who?", "person").sample is not None
    assert decided("In which year?", "time", round_=2).verdict.postponed, "other kinds may still come"
    assert decided("In which year?", "time", round_=3).sample is not None, "all chunks were drawn"
    unwanted = decided("Where?", "place", round_=1)
    [reject] = unwanted.rejects
    assert "place" in reject.reason
    assert not unwanted.verdict.postponed
    assert decided("What?", "thing").sample is not None, "no limit was set"


def test_restored_kinds_count(planner):
    limited = limited_planner({"simple": 6}, {"time": 1})
    limited.restore([(make_sample(ATTEMPT, of_kind("When?", "time")), np.ones(64, dtype=np.float32) / 8)])
    assert limited.decide(ATTEMPT, Outcome(drafts=(of_kind("In which year?", "time"),))).verdict.postponed
