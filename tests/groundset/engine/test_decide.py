import numpy as np
import pytest

from groundset.engine.decide import Decider, make_sample
from programs.types import Attempt, Chunk, Context, Draft, Outcome, Reject, Retrieval

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


@pytest.fixture
def decider() -> Decider:
    rng = np.random.default_rng(0)

    def encode(texts):
        rows = rng.normal(size=(len(texts), 64)).astype(np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    return Decider({"simple": 1, "reasoning": 1, "conditional": 0}, {}, encode)


def test_the_draft_comes_before_its_seed(decider):
    decision = decider.decide(ATTEMPT, Outcome(drafts=(draft("Evolved?"), draft("Seed?", "simple"))))
    assert decision.verdict == ("reasoning", False, (), False)
    assert decision.sample is not None
    assert decision.sample.question == "Evolved?"
    assert not decider.is_full


def test_the_seed_is_taken_where_the_draft_repeats_a_question(decider):
    decider.decide(ATTEMPT, Outcome(drafts=(draft("Asked?", "simple"),)))
    decision = decider.decide(ATTEMPT, Outcome(drafts=(draft("asked"), draft("Seed?", "simple"))))
    assert [reject.step for reject in decision.rejects] == ["duplicate"]
    assert decision.verdict.put_off, "there are enough simple ones for now"
    assert decision.rejects[0].reason.startswith("repeats an accepted question: 'Asked?'")
    assert decision.rejects[0].probability == 0.75
    assert decision.sample is None
    full = decider.decide(ATTEMPT, Outcome(drafts=(draft("Evolved?"),), exhausted=True))
    assert full.verdict == ("reasoning", True, (), False)
    assert decider.is_full


def test_after_the_first_round_the_size_counts_for_more_than_the_mix(decider):
    conditional = Outcome(drafts=(draft("Condition?", "conditional"),))
    before = decider.decide(ATTEMPT, conditional)
    assert (before.sample, before.rejects, before.verdict.put_off) == (None, (), True)
    later = ATTEMPT.model_copy(update={"round": 1})
    assert decider.decide(later, conditional).verdict.accepted == "conditional"


def test_a_mix_without_simple_questions_never_gives_way(decider):
    strict = Decider({"simple": 0, "reasoning": 1, "conditional": 0}, {}, decider._duplicates._encode)
    refused = strict.decide(ATTEMPT.model_copy(update={"round": 1}), Outcome(drafts=(draft("Seed?", "simple"),)))
    assert [reject.step for reject in refused.rejects] == ["mix"]
    assert not refused.verdict.put_off


def test_rejects_of_the_program_come_first(decider):
    reject = Reject(step="judge", reason="not clear", chunk_id="d-0")
    assert decider.decide(ATTEMPT, Outcome(rejects=(reject,))).rejects == (reject,)


def test_a_sample_tells_where_it_comes_from():
    sample = make_sample(ATTEMPT, draft("Evolved?"))
    assert sample.id == make_sample(ATTEMPT, draft("Evolved?")).id
    assert sample.id != make_sample(ATTEMPT, draft("Other?")).id
    assert sample.language == "en"
    assert sample.retrieval_gt == (("d-0",),)
    assert sample.metadata == {"focus": "x", "attempt": 3, "round": 0, "seed": 9}


def test_an_earlier_process_counts(decider):
    sample = make_sample(ATTEMPT, draft("Evolved?"))
    decider.restore([(sample, np.ones(64, dtype=np.float32) / 8)])
    assert decider.accepted == {"reasoning": 1}
    again = decider.decide(ATTEMPT, Outcome(drafts=(draft("evolved", "simple"),)))
    assert [reject.step for reject in again.rejects] == ["duplicate"]


def of_kind(text, kind):
    return draft(text, "simple").model_copy(update={"metadata": {"kind": kind}})


def test_no_kind_of_question_takes_more_than_its_limit_while_others_may_come(decider):
    limited = Decider({"simple": 6}, {"time": 1, "person": 2, "place": 0}, decider._duplicates._encode)

    def decided(text, kind, round_=0):
        attempt = ATTEMPT.model_copy(update={"round": round_})
        return limited.decide(attempt, Outcome(drafts=(of_kind(text, kind),)))

    assert decided("When?", "time").sample is not None
    later = decided("In which year?", "time")
    assert (later.sample, later.rejects, later.verdict.put_off) == (None, (), True)
    assert decided("Who?", "person").sample is not None
    assert decided("In which year?", "time", round_=2).verdict.put_off, "something else may be left to ask"
    assert decided("In which year?", "time", round_=3).sample is not None, "all chunks were drawn"
    unwanted = decided("Where?", "place", round_=1)
    assert [reject.reason for reject in unwanted.rejects] == ["there are enough questions that ask for a place"]
    assert not unwanted.verdict.put_off
    assert decided("What?", "thing").sample is not None, "no limit was set"


def test_kinds_of_an_earlier_process_count(decider):
    limited = Decider({"simple": 6}, {"time": 1}, decider._duplicates._encode)
    limited.restore([(make_sample(ATTEMPT, of_kind("When?", "time")), np.ones(64, dtype=np.float32) / 8)])
    assert limited.decide(ATTEMPT, Outcome(drafts=(of_kind("In which year?", "time"),))).verdict.put_off
