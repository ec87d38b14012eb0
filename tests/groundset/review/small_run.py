"""A small run: a document of four chunks with a question about each."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from groundset.store.run_store import RunStore
from groundset.store.tables import Verdict
from programs.types import Attempt, Chunk, Context, Document, Reject, Retrieval, Sample, StepRecord

SENTENCES = (
    "The **ferry** leaves Tollvik at nine.",
    "The bridge was built by Ada Lund in 1931.",
    "The tower is forty metres high.",
    "The museum opens on Sundays.",
)
ASKED = (
    ("When does the ferry leave Tollvik?", "at nine"),
    ("Who built the bridge?", "Ada Lund"),
    ("How high is the tower?", "forty metres"),
    ("When does the museum open?", "on Sundays"),
)


def corpus() -> tuple[Document, list[Chunk]]:
    text = "\n".join(SENTENCES)
    document = Document(doc_id="guide", path="guide.md", title="Guide", text=text)
    chunks, start = [], 0
    for number, sentence in enumerate(SENTENCES):
        chunks.append(
            Chunk(
                chunk_id=f"guide-{number:04d}", doc_id="guide", path="guide.md", title="Guide",
                start=start, end=start + len(sentence), text=sentence,
            )
        )  # fmt: skip
        start += len(sentence) + 1
    return document, chunks


def sample(name: str, question: str, answer: str, chunk: Chunk, **changes: Any) -> Sample:
    fields = {
        "id": name, "question": question, "answer": answer, "evolution": "simple", "language": "en",
        "contexts": (chunk,), "retrieval_gt": ((chunk.chunk_id,),), "probability": 0.4321,
        "retrieval": Retrieval(rank=1, retrieved_id=chunk.chunk_id, retrieved_content=chunk.text, score=1),
        "trail": (
            StepRecord(step="question", output={"question": question, "sentence": chunk.text, "answer": answer}),
            StepRecord(step="judge", output={"fit": 0.4321}, probability=0.4321, verdict="good"),
        ),
        "metadata": {"focus": chunk.text.replace("*", ""), "kind": "time" if question.startswith("When") else "thing"},
        **changes,
    }  # fmt: skip
    return Sample(**fields)


def put(store: RunStore, number: int, made: Sample | None, rejects: Sequence[Reject] = ()) -> None:
    """Store what became of an attempt, as a run does."""
    _, chunks = corpus()
    chunk = made.contexts[0] if made else chunks[number % len(chunks)]
    store.attempts.begin(
        Attempt(
            number=number,
            contexts=(Context(chunk=chunk, passage=chunk.text, topic="Guide", language="en"),),
            wanted="simple",
        )
    )
    outputs = [{"question": reject.question, "sentence": chunk.text, "answer": "meant"} for reject in rejects]
    records = [StepRecord(step="question", candidate=place, output=output) for place, output in enumerate(outputs)]
    store.attempts.add_steps(number, records)
    store.results.decide(
        number, Verdict("simple", False), made, np.ones(4, dtype=np.float32) if made else None, rejects
    )


def make_run(folder: Path, asked: Sequence[tuple[str, str]], rejects: Sequence[Reject] = ()) -> Path:
    """Make a run of these questions and answers, one a chunk, and of rejects."""
    folder.mkdir()
    document, chunks = corpus()
    with RunStore.create(folder, meta={}, documents=[document], chunks=chunks) as store:
        for number, (question, answer) in enumerate(asked):
            chunk = chunks[number % len(chunks)]
            put(store, number, sample(f"{folder.name}-{number}", question, answer, chunk))
        if rejects:
            put(store, len(asked), None, rejects)
    return folder
