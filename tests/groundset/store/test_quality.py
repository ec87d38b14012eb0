"""Estimates of sample quality and the samples they cover."""

from typing import Any

import pytest

from groundset.store.quality import QualityEstimate, estimate_quality, is_easy
from programs.types import Chunk, Retrieval, Sample, StepRecord

CHUNK = Chunk(chunk_id="c", doc_id="d", path="d.md", title="", start=0, end=5, text="Tarn.")
OF_RUNS = {"expected_good": 0.88, "interval": [0.78, 0.94], "measured_on": 60, "kinds": {}}


def sample(*trail: StepRecord) -> Sample:
    found = Retrieval(rank=1, retrieved_id="c", retrieved_content="Tarn.", score=1)
    fields: dict[str, Any] = {"evolution": "simple", "language": "en", "contexts": (CHUNK,), "retrieval_gt": (("c",),)}
    return Sample(id="s", question="Who?", answer="Tarn", retrieval=found, probability=0.5, trail=trail, **fields)


EASY = sample(StepRecord(step="question", output={"question": "Who?", "easy": True}))
HARD = sample(StepRecord(step="keyphrases"), StepRecord(step="question", output={"question": "Who?", "easy": False}))
TAUGHT = sample(StepRecord(step="pair", output={"question": "Who?"}))


def test_is_easy_reads_the_question_step() -> None:
    assert [is_easy(item) for item in (EASY, HARD, TAUGHT)] == [True, False, False]


def test_estimate_measured_on_runs_covers_easy_samples() -> None:
    assert estimate_quality({"judge": OF_RUNS}, [EASY, HARD, EASY, TAUGHT]) == QualityEstimate(
        0.88, 0.78, 0.94, 60, True, 2
    )
    assert estimate_quality({"judge": OF_RUNS}, [HARD]) is None


@pytest.mark.parametrize("compiled", [None, {}, {"judge": {"threshold": 0.4}}])
def test_unmeasured_critic_has_no_estimate(compiled: Any) -> None:
    assert estimate_quality(compiled, [EASY]) is None


def test_estimate_measured_on_labels_covers_all_samples() -> None:
    labels = {name: value for name, value in OF_RUNS.items() if name != "kinds"}
    assert estimate_quality({"judge": labels}, [EASY, HARD]) == QualityEstimate(0.88, 0.78, 0.94, 60, False, 2)
