"""Runs for report tests, optionally with hostile texts."""

from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np

from groundset.store.reviews import Review
from groundset.store.run_store import RunStore
from groundset.store.tables import Verdict
from programs.types import Attempt, Chunk, Context, Document, Reject, Retrieval, Sample, StepRecord

EVIL = "<script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"
# Direction, line separator and control characters; then a broken matplotlib formula.
INVISIBLE = "\u202egnp.exe\u2028\x1b[31m $\\frac{1$ "
EVILS = (EVIL, INVISIBLE, "]]></svg><b>", "$$$^_{", "{{ 7*7 }} `x`", 'id="made" url(#made)', "x" * 5000)
TOPICS = ("ferry", "clock", "thistle", "loom")
META: dict[str, Any] = {
    "asked": 10,
    "ending": "complete",
    "models": {
        "lm": {"name": "scripted"},
        "embedder": {"name": "words", "sha256": "f" * 64},
        "critic": {"name": "head", "compiled": "x"},
    },
    "compiled": {
        "judge": {
            "model": "head", "optimizer": "fit-head", "threshold": 0.42, "expected_good": 0.584,
            "interval": [0.487, 0.675], "measured_on": 101,
        }
    },
    "configuration": {"recipe": "evolved", "max_rank": 5},
    "corpus": {"dropped_duplicates": 2},
    "agenda": {"chunks": 12, "usable": 9},
    "identity": {"program": {}},
}  # fmt: skip


def corpus(evils: Sequence[str] = ("",)) -> tuple[list[Document], list[Chunk]]:
    """Return four documents of three chunks each."""
    documents, chunks = [], []
    for topic, evil in zip(TOPICS, cycle(evils), strict=False):
        texts = [f"The {topic} number {place} of Brenn was made in 19{place}1. {evil}" for place in range(3)]
        document = Document(doc_id=topic, path=f"{topic}.md", title=f"The {topic} {evil}", text="\n".join(texts))
        documents.append(document)
        start = 0
        for place, text in enumerate(texts):
            named = document.model_dump(include={"doc_id", "path", "title"})
            chunks.append(Chunk(chunk_id=f"{topic}-{place}", **named, start=start, end=start + len(text), text=text))
            start += len(text) + 1
    return documents, chunks


def sample(number: int, chunk: Chunk, evil: str = "", rank: int | None = 1) -> Sample:
    return Sample(
        id=f"s{number}",
        question=f"When was the {chunk.doc_id} number {number} of Brenn made{evil}?",
        answer=f"in 19{number}1",
        evolution="simple" if number % 2 else "reasoning",
        language="en",
        contexts=(chunk,),
        retrieval_gt=((chunk.chunk_id,),),
        retrieval=Retrieval(rank=rank, retrieved_id=chunk.chunk_id, retrieved_content=chunk.text, score=1),
        probability=0.42 + number / 20,
        trail=(
            StepRecord(step="question", output={"easy": number % 2 == 0}),
            StepRecord(step="judge", probability=0.5, verdict="good"),
        ),
        metadata={"kind": f"time{evil}"},
    )


def vectors(chunks: Sequence[Chunk]) -> np.ndarray:
    """Return a vector for each chunk, clustered by document."""
    rng = np.random.default_rng(0)
    centres = {topic: rng.standard_normal(8) for topic in TOPICS}
    rows = np.array([centres[chunk.doc_id] + 0.3 * rng.standard_normal(8) for chunk in chunks])
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def make_run(folder: Path, samples: int = 6, evils: Sequence[str] = ("",), embedded: bool = True, **meta: Any) -> Path:
    """Make a run of four documents with twelve chunks, as many rejects as samples, and three reviews."""
    documents, chunks = corpus(evils)
    rows = vectors(chunks)
    with RunStore.create(folder, meta={**META, **meta}, documents=documents, chunks=chunks) as store:
        passed = [Reject(step="chunk", reason="not content", chunk_id=chunk.chunk_id) for chunk in chunks[::4]]
        known = [(chunk.chunk_id, row.tobytes()) for chunk, row in zip(chunks, rows, strict=True)]
        store.store_column("vector", known if embedded else known[:3], passed)
        for number in range(2 * samples):
            place, evil = number // 2, evils[number // 2 % len(evils)]
            context = Context(chunk=chunks[place], passage=chunks[place].text, topic="", language="en")
            store.attempts.begin(Attempt(number=number, contexts=(context,), wanted="simple"))
            store.attempts.add_steps(number, [StepRecord(step="judge")])
            if number % 2:
                reject = Reject(
                    step="judge",
                    reason=f"not clear: {evil}",
                    chunk_id=chunks[place].chunk_id,
                    question=f"What? {evil}",
                    probability=0.1,
                )
                store.results.decide(number, Verdict(None, False), None, None, [reject])
                continue
            made = sample(place, chunks[place], evil, rank=(1, 2, 7, None)[place % 4])
            store.results.decide(number, Verdict("simple", False), made, rows[place], [])
            store.calls.put(f"c{number}", {
                "prompt_tokens": 100, "evaluated_tokens": 20, "completion_tokens": 5, "seconds": 1.0,
            })  # fmt: skip
        store.spend(store.begin_session(), 60.0)
        if samples > 2:
            for item, verdict in (("s0", "good"), ("s1", "good"), ("s2", "bad")):
                store.reviews.add(Review(item=item, verdict=verdict, question=EVIL if item == "s1" else None))
    return folder
