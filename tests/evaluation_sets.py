"""Documents, chunks and samples for the tests of what exports write."""

from datetime import UTC, datetime, timedelta, timezone

import numpy as np

from groundset.run import Run
from groundset.store.tables import Vectors
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


def run_of(samples: list[Sample], chunks: list[Chunk], documents: list[Document], vectors: Vectors) -> Run:
    """Return a run in memory; ``vectors`` are of the chunks, and that of a question is the one of its first chunk."""
    rows = {chunk.chunk_id: row for chunk, row in zip(chunks, vectors, strict=True)}
    return Run.of(
        samples=samples,
        chunks=chunks,
        documents=documents,
        chunk_vectors=vectors,
        question_vectors=np.stack([rows[sample.contexts[0].chunk_id] for sample in samples]),
        started=MADE,
        identity=None,
        settings={},
        reviews=[],
    )


def evaluation_set(documents: int = 12, chunks: int = 10) -> Run:
    """Return a set whose chunks of a document are alike, with a question about the second of each."""
    sources = [document(f"d{number:02d}", chunks) for number in range(documents)]
    found = [chunk for each in sources for chunk in cut(each)]
    chance = np.random.default_rng(1)
    themes = chance.standard_normal((documents, 16))
    vectors = np.repeat(themes, chunks, axis=0) + chance.standard_normal((documents * chunks, 16))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    asked = [
        sample(f"q-{each.chunk_id}", each, answer=f"number {n}") for n, each in enumerate(found) if n % chunks == 1
    ]
    return run_of(asked, found, sources, vectors.astype(np.float32))
