"""A run with two samples and three rejects, for tests of reviews."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from groundset.store.reviews import Review
from groundset.store.run_store import RunStore
from groundset.store.tables import Verdict
from programs.types import Attempt, Chunk, Context, Document, Reject, Retrieval, Sample, StepRecord

TEXTS = {
    "ferry": "The **ferry** leaves Tollvik at nine and comes back at noon.",
    "mill": "The tide mill of Orsle was built in 1712 by Maria Kolb.",
    "list": "1. Kolb, M. (1931). Tides and mills. Orsle.",
}
CHUNKS = {
    name: Chunk(chunk_id=name, doc_id=name, path=f"{name}.md", title=name.title(), start=0, end=len(text), text=text)
    for name, text in TEXTS.items()
}
MADE = {"models": {"lm": {"name": "smollm2-135m"}}, "configuration": {"recipe": "evolved"}}
# Reviews refer to these by position: 1, 2 and 3.
REJECTS = (
    Reject(step="chunk", reason="a list", chunk_id="list"),
    Reject(step="judge", reason="not clear", chunk_id="mill", question="Who built it?"),
    Reject(step="needed", reason="one is enough", chunk_id="ferry", question="What is older, mill or ferry?"),
)


def sample(item: str, question: str, answer: str, *chunks: str, **changes: Any) -> Sample:
    """Return a sample about the named chunks."""
    found = Retrieval(rank=1, retrieved_id=chunks[0], retrieved_content=TEXTS[chunks[0]], score=1)
    fields: dict[str, Any] = {"evolution": "simple", "metadata": {"kind": "time"}, "trail": (), **changes}
    return Sample(
        id=item, question=question, answer=answer, language="en", contexts=tuple(CHUNKS[name] for name in chunks),
        retrieval_gt=tuple((name,) for name in chunks), retrieval=found, probability=0.9, **fields,
    )  # fmt: skip


ASKED_EASILY = (StepRecord(step="question", output={"easy": True}),)
SAMPLES = (
    sample("q-ferry", "When does the ferry leave Tollvik?", "at nine", "ferry", trail=ASKED_EASILY),
    sample("q-mill", "When was the tide mill of Orsle built?", "1712", "mill", evolution="reasoning", metadata={}),
)


def make_run(folder: Path, samples: Sequence[Sample] = SAMPLES, **meta: Any) -> Path:
    """Write a run whose last reject belongs to an attempt with two chunks."""
    documents = [Document(doc_id=name, path=f"{name}.md", title=name, text=text) for name, text in TEXTS.items()]
    chunks = list(CHUNKS.values())
    with RunStore.create(folder, meta={**MADE, **meta}, documents=documents, chunks=chunks) as store:
        store.results.add_rejects(None, REJECTS[:1])
        contexts = tuple(
            Context(chunk=CHUNKS[name], passage=TEXTS[name], topic=name, language="en") for name in ("mill", "ferry")
        )
        for number, (context, reject) in enumerate(zip((contexts[:1], contexts), REJECTS[1:], strict=True)):
            store.attempts.begin(Attempt(number=number, contexts=context, wanted="simple"))
            store.results.decide(number, Verdict(None, True), None, None, [reject])
        for number, accepted in enumerate(samples, 2):
            store.attempts.begin(Attempt(number=number, contexts=contexts, wanted="simple"))
            store.results.decide(number, Verdict("simple", False), accepted, np.ones(4, dtype=np.float32), [])
    return folder


def say(folder: Path, item: str, verdict: str | None, reason: str | None = None, **fields: Any) -> None:
    """Store a review; a number as ``item`` refers to a reject."""
    kind = "reject" if item.isdecimal() else "sample"
    with RunStore.review(folder) as store:
        store.reviews.add(Review(item=item, **{"kind": kind, "verdict": verdict, "reason": reason, **fields}))
