"""What a run says at its end, as far as the tests of runs do not show it."""

import numpy as np
import pytest

from groundset.runs.record import run_files
from groundset.runs.schedule import Verdict
from groundset.runs.store import RunStore
from groundset.runs.summary import summarise
from programs.types import Attempt, Chunk, Context, Retrieval, Sample

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
        ([1, 4, 2], "3 of the questions are answered by another chunk just as well; for 2 that changed the rank."),
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
