from scripted_program import chunk_of, languages_with, trail_of

from programs.analysis import read_chunk
from programs.types import Attempt

ATTEMPT = Attempt(number=3, contexts=(read_chunk(chunk_of(), languages_with(None)),), wanted="simple")


def test_records_go_to_observer_and_candidate():
    trail, seen = trail_of(ATTEMPT)
    trail.record("chunk", 0, {}, probability=0.123456, good=True)
    trail.record("question", 0, {"question": "When?"})
    trail.record("question", 1, {"question": "Who?"}, good=False, reason="not clear")
    assert [(record.step, record.candidate, record.verdict) for record in seen] == [
        ("chunk", 0, "good"),
        ("question", 0, None),
        ("question", 1, "bad"),
    ]
    assert seen[0].probability == 0.1235
    assert trail.records_of(1) == (seen[0], seen[2])
    assert trail.language == "en"


def test_outcome_has_rejects_and_drafts():
    trail, _ = trail_of(ATTEMPT)
    trail.refuse("judge", "not clear", probability=0.33333, question="When?")
    outcome = trail.outcome(None, exhausted=True)
    assert outcome.drafts == ()
    assert outcome.exhausted
    (reject,) = outcome.rejects
    assert (reject.step, reject.chunk_id, reject.probability, reject.question) == (
        "judge",
        "ferry-0001",
        0.3333,
        "When?",
    )
