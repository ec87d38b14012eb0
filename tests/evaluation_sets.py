"""Small evaluation sets for the tests of what goes out and comes in."""

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np

from groundset.corpus.corpus import Corpus
from groundset.exports.sets import EvaluationSet
from groundset.programs.types import Chunk, Document, Retrieval, Sample
from groundset.run.run import Run, save_run
from groundset.run.store import Review

EAST = timezone(timedelta(hours=2))
STARTED = "2026-03-04T05:06:07+00:00"


def document(name: str, chunks: int, modified: datetime | None = None) -> Document:
    text = "\n".join(f"{name} says that number {number} is “fine”." for number in range(chunks))
    return Document(
        doc_id=name, path=f"{name}.md", title=name.title(), text=text, last_modified=modified
    )


def cut(source: Document) -> list[Chunk]:
    """Return a chunk for each line of a document."""
    chunks, start = [], 0
    for number, line in enumerate(source.text.split("\n")):
        place = {"start": start, "end": start + len(line), "text": line}
        about = source.model_dump(include={"doc_id", "path", "title"})
        chunks.append(Chunk(chunk_id=f"{source.doc_id}-{number:04d}", **about, **place))
        start += len(line) + 1
    return chunks


def chunk(name: str, text: str = "x", **changes: Any) -> Chunk:
    place = {"doc_id": "d", "path": "d.md", "title": "", "start": 0, "end": len(text)}
    return Chunk(chunk_id=name, text=text, **{**place, **changes})


def sample(name: str, *contexts: Chunk, **changes: Any) -> Sample:
    first = contexts[0]
    fields = {
        "id": name,
        "question": f"What does {first.title} say?",
        "answer": "That it is “fine”.",
        "evolution": "simple",
        "language": "en",
        "contexts": contexts,
        "retrieval_gt": tuple((chunk.chunk_id,) for chunk in contexts),
        "retrieval": Retrieval(
            rank=1, retrieved_id=first.chunk_id, retrieved_content=first.text, score=1
        ),
        "probability": 0.9,
        **changes,
    }
    return Sample(**fields)


def run_of(
    samples: Sequence[Sample],
    documents: Sequence[Document],
    chunks: Sequence[Chunk] | None = None,
    *,
    name: str = "run",
    record: dict[str, Any] | None = None,
    reviews: Sequence[Review] = (),
) -> Run:
    """Return a run in memory; its chunks are lines of the documents, and like one another in
    nothing, if not given.
    """
    chunks = (
        [chunk for source in documents for chunk in cut(source)] if chunks is None else list(chunks)
    )
    parts = {
        "samples": tuple(samples),
        "corpus": Corpus({each.doc_id: each for each in documents}, chunks),
        "vectors": np.eye(len(chunks), 16, dtype=np.float32),
        "reviews": list(reviews),
        "rejects": (),
        "record": {"started": STARTED, "configuration": {"embedder": "words"}, **(record or {})},
    }
    return Run(Path(name), **parts)


def evaluation_set(run: Run, splits: dict[str, str] | None = None) -> EvaluationSet:
    """Return what goes out of a run; ``splits`` are those of samples."""
    return EvaluationSet([run], run.samples, list(run.chunks.values()), run.documents, splits)


def two_documents() -> EvaluationSet:
    """Return a question about a chunk of one document, and one about chunks of both; chunks are in
    no order.
    """
    documents = [document("ferry", 3, datetime(2025, 7, 1, 12, tzinfo=EAST)), document("clock", 1)]
    ferry, clock = map(cut, documents)
    chunks = [ferry[2], clock[0], ferry[0], ferry[1]]
    samples = [sample("q-1", chunks[0]), sample("q-2", chunks[1], chunks[3])]
    return evaluation_set(run_of(samples, documents, chunks))


def saved(folder: Path, samples: Sequence[Sample] | None = None, **changes: Any) -> Run:
    """Save the set of two documents, or its documents with other samples, as a run."""
    whole = two_documents()
    changes = {"documents": list(whole.documents.values()), **changes}
    run = run_of(whole.samples if samples is None else samples, **changes)
    parts = {name: getattr(run, name) for name in ("samples", "vectors", "record", "reviews")}
    return save_run(folder, run.corpus, **parts)


# The record of a run, with what must not be published: all that is called secret.
RECORD = {
    "status": "complete",
    "attempts": 9,
    "rejects": 4,
    "reason": "/home/me/secret",
    "tracked": {"store": "/home/me/secret/mlruns"},
    "skipped": [{"path": "secret-plan.pdf", "reason": "encrypted"}],
    "source": "secret-folder",
    "models": {
        "lm": {"name": "/home/me/secret/tiny.gguf", "sha256": "a" * 64},
        "critic_lm": {"name": "openai/big@http://secret.example/v1", "sha256": None},
        "embedder": {"name": "owner/embedder", "sha256": "b" * 64},
    },
    "configuration": {
        "recipe": "evolved",
        "documents": ["/home/me/secret/docs"],
        "lm": "/home/me/secret/tiny.gguf",
        "kinds": {"fact": 1.0},
        "personas": ["a secret persona"],
        "like": ["a secret query"],
        "engine": "ray=secret:10001",
        "embedder": "owner/embedder",
        "size": 2,
    },
}


def private_run(*samples: Sample, **parts: Any) -> Run:
    """Return the run of two documents in memory, or its documents with other samples, with a
    private record.
    """
    found = two_documents()
    record = RECORD | parts.pop("record", {})
    return run_of(samples or found.samples, list(found.documents.values()), record=record, **parts)
