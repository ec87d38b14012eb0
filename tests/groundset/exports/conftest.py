"""An evaluation set of two documents, as every format is handed it."""

from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest

from groundset.exports.base import EvaluationSet
from programs.types import Chunk, Document, Retrieval, Sample

MADE = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
EAST = timezone(timedelta(hours=2))


def document(name: str, chunks: int, modified: datetime | None = None) -> Document:
    text = "\n".join(f"{name} says that number {number} is “fine”." for number in range(chunks))
    return Document(doc_id=name, path=f"{name}.md", title=name.title(), text=text, last_modified=modified)


def cut(source: Document) -> list[Chunk]:
    chunks, start = [], 0
    for number, line in enumerate(source.text.split("\n")):
        chunks.append(
            Chunk(
                chunk_id=f"{source.doc_id}-{number:04d}",
                doc_id=source.doc_id,
                path=source.path,
                title=source.title,
                start=start,
                end=start + len(line),
                text=line,
            )
        )
        start += len(line) + 1
    return chunks


def sample(name: str, *contexts: Chunk, **changes: object) -> Sample:
    first = contexts[0]
    fields = {
        "id": name,
        "question": f"What does {first.title} say?",
        "answer": "That it is “fine”.",
        "evolution": "simple",
        "language": "en",
        "contexts": contexts,
        "retrieval_gt": tuple((chunk.chunk_id,) for chunk in contexts),
        "retrieval": Retrieval(rank=1, retrieved_id=first.chunk_id, retrieved_content=first.text, score=1),
        "probability": 0.9,
        "trail": (),
        **changes,
    }
    return Sample(**fields)


@pytest.fixture
def documents() -> list[Document]:
    return [document("ferry", 3, datetime(2025, 7, 1, 12, tzinfo=EAST)), document("clock", 1)]


@pytest.fixture
def chunks(documents: list[Document]) -> list[Chunk]:
    ferry, clock = (cut(source) for source in documents)
    # The order of a run is the order in which chunks are drawn, not that of the documents.
    return [ferry[2], clock[0], ferry[0], ferry[1]]


@pytest.fixture
def samples(chunks: list[Chunk]) -> list[Sample]:
    return [sample("q-1", chunks[0]), sample("q-2", chunks[1], chunks[3])]


@pytest.fixture
def content(samples: list[Sample], chunks: list[Chunk], documents: list[Document]) -> EvaluationSet:
    """Return the set; its vectors say that each chunk is most like its neighbours in the list, a question its first."""
    angles = np.linspace(0, 1, len(chunks))
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    places = {chunk.chunk_id: place for place, chunk in enumerate(chunks)}
    asked = {sample.id: vectors[places[sample.contexts[0].chunk_id]] for sample in samples}
    return EvaluationSet(samples, chunks, documents, MADE, lambda: vectors, lambda: asked)
