"""What a run says at its end, as far as the tests of runs do not show it."""

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
        ([1], "1 of the questions is answered by another chunk just as well."),
        ([1, 4, 2], "3 of the questions are answered by another chunk just as well, and 2 of them found it sooner."),
    ],
)
def test_the_summary_says_how_often_another_chunk_does_as_well(tmp_path, ranks, line):
    """``ranks`` are those of the source chunks of questions that another chunk answers at rank 1."""
    meta = {"asked": 4, "compiled": {}}
    with RunStore.create(tmp_path / "run", meta=meta, documents=[], chunks=[CHUNK]) as store:
        samples = [sample(number, "d-1", source_rank=rank) for number, rank in enumerate(ranks)]
        for number, each in enumerate([*samples, sample(9, source_rank=1)]):
            store.attempts.begin(Attempt(number=number, contexts=(CONTEXT,), wanted="simple"))
            store.results.decide(number, Verdict("simple", False), each, np.zeros(4, dtype=np.float32), [])
        told = summarise(store, run_files(store.folder), "complete", None)
    assert [each for each in told if "just as well" in each] == ([] if line is None else [line])


def test_the_summary_says_what_to_expect_and_keeps_passages_apart_from_faults(tmp_path):
    promise = {"judge": {"threshold": 0.42, "expected_good": 0.584, "interval": [0.487, 0.675]}}
    meta = {"asked": 4, "compiled": promise}
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
        told = summarise(store, run_files(store.folder), "complete", None)
    assert told[1:4] == [
        "Expect about 58 of 100 questions like these to be good (49 to 68, measured on labelled questions); read them "
        "before you rely on them.",
        "Refused 2 questions, by step: pair 1 (1 not a question); failure 1 (1 ValueError).",
        "Nothing to ask in 3 passages: chunk 2 (2 a list); keyphrases 1 (1 no further sentence can carry a question).",
    ]


PROMISED = "Expect about 87 of 100 questions like these to be good (79 to 92, measured on questions of other runs)"


@pytest.mark.parametrize(
    ("easy", "line"),
    [
        (2, f"{PROMISED}; read them before you rely on them."),
        (
            1,
            f"{PROMISED}; this holds for the 1 that were easy to ask, not for the other 1, of which readers sign "
            "fewer; read them before you rely on them.",
        ),
        (0, "None of these questions was easy to ask, and readers sign fewer of such: read them all."),
    ],
)
def test_the_summary_warns_of_questions_that_were_not_easy_to_ask(tmp_path, easy, line):
    judge = {"threshold": 0.34, "expected_good": 0.87, "interval": [0.79, 0.92], "kinds": {}}
    meta = {"asked": 2, "compiled": {"judge": judge}}
    with RunStore.create(tmp_path / "run", meta=meta, documents=[], chunks=[CHUNK]) as store:
        for number in range(2):
            store.attempts.begin(Attempt(number=number, contexts=(CONTEXT,), wanted="simple"))
            trail = (StepRecord(step="question", output={"easy": number < easy}),)
            each = sample(number, source_rank=1).model_copy(update={"trail": trail})
            store.results.decide(number, Verdict("simple", False), each, np.zeros(4, dtype=np.float32), [])
        told = summarise(store, run_files(store.folder), "complete", None)
    assert line in told
