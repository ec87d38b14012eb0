"""Summary lines."""

import numpy as np
import pytest

from groundset.store.record import run_files
from groundset.store.run_store import RunStore
from groundset.store.summary import summarise
from groundset.store.tables import Verdict
from programs.types import Attempt, Chunk, Context, Reject, Retrieval, Sample, StepRecord

CHUNK = Chunk(chunk_id="d-0", doc_id="d", path="d.md", title="D", start=0, end=6, text="First.")
CONTEXT = Context(chunk=CHUNK, passage=CHUNK.text, topic="D", language="en")
FOUND = Retrieval(rank=1, retrieved_id="d-0", retrieved_content="First.", score=1)


def sample(number: int, *others: str, source_rank: int) -> Sample:
    return Sample(
        id=f"s{number}",
        question="What?",
        answer="That.",
        evolution="simple",
        language="en",
        contexts=(CHUNK,),
        retrieval_gt=(("d-0", *others),),
        retrieval=FOUND,
        probability=0.75,
        trail=(),
        metadata={"source_rank": source_rank},
    )


@pytest.mark.parametrize(
    ("ranks", "line"),
    [
        ([], None),
        ([1], "1 question can also be answered from another chunk."),
        ([1, 4, 2], "3 questions can also be answered from another chunk, which improved the rank of 2."),
    ],
)
def test_summary_counts_alternative_chunks(tmp_path, ranks, line):
    """``ranks`` are the ranks of source chunks whose alternative has rank 1."""
    meta = {"asked": 4, "compiled": {}}
    with RunStore.create(tmp_path / "run", meta=meta, documents=[], chunks=[CHUNK]) as store:
        samples = [sample(number, "d-1", source_rank=rank) for number, rank in enumerate(ranks)]
        for number, accepted in enumerate([*samples, sample(9, source_rank=1)]):
            store.attempts.begin(Attempt(number=number, contexts=(CONTEXT,), wanted="simple"))
            store.results.decide(number, Verdict("simple", False), accepted, np.zeros(4, dtype=np.float32), [])
        lines = summarise(store, run_files(store.folder), "complete", None)
    assert [text for text in lines if "another chunk" in text] == ([] if line is None else [line])


def test_summary_separates_skipped_chunks_from_refused_questions(tmp_path):
    compiled = {"judge": {"threshold": 0.42, "expected_good": 0.584, "interval": [0.487, 0.675]}}
    meta = {"asked": 4, "compiled": compiled}
    with RunStore.create(tmp_path / "run", meta=meta, documents=[], chunks=[CHUNK]) as store:
        store.attempts.begin(Attempt(number=0, contexts=(CONTEXT,), wanted="simple"))
        refused = [
            Reject(step="chunk", reason="a list", chunk_id="d-0", probability=0.1),
            Reject(step="chunk", reason="a list", chunk_id="d-1", probability=0.2),
            Reject(step="keyphrases", reason="no further sentence can carry a question", chunk_id="d-0"),
            Reject(step="pair", reason="not a question", chunk_id="d-0", question="What"),
            Reject(step="failure", reason="ValueError: a slip", chunk_id="d-0"),
        ]
        vector = np.zeros(4, dtype=np.float32)
        store.results.decide(0, Verdict("simple", False), sample(0, source_rank=1), vector, refused)
        lines = summarise(store, run_files(store.folder), "complete", None)
    estimate, refused_line, skipped_line = lines[1:4]
    assert "58 of 100" in estimate
    assert refused_line == "Refused 2 questions, by step: pair 1 (not a question: 1); failure 1 (ValueError: 1)."
    assert "chunk 2 (a list: 2); keyphrases 1 (no further sentence can carry a question: 1)" in skipped_line


@pytest.mark.parametrize(
    ("easy", "texts"),
    [
        (2, ["87 of 100", "79 to 92"]),
        (1, ["87 of 100", "the 1 from sentence syntax, not the other 1"]),
        (0, ["None of these questions came from sentence syntax"]),
    ],
)
def test_summary_limits_the_estimate_to_easy_questions(tmp_path, easy, texts):
    judge = {"threshold": 0.34, "expected_good": 0.87, "interval": [0.79, 0.92], "kinds": {}}
    meta = {"asked": 2, "compiled": {"judge": judge}}
    with RunStore.create(tmp_path / "run", meta=meta, documents=[], chunks=[CHUNK]) as store:
        for number in range(2):
            store.attempts.begin(Attempt(number=number, contexts=(CONTEXT,), wanted="simple"))
            trail = (StepRecord(step="question", output={"easy": number < easy}),)
            accepted = sample(number, source_rank=1).model_copy(update={"trail": trail})
            store.results.decide(number, Verdict("simple", False), accepted, np.zeros(4, dtype=np.float32), [])
        summary = "\n".join(summarise(store, run_files(store.folder), "complete", None))
    assert all(text in summary for text in texts)
    assert ("the other" in summary) == (easy == 1)
