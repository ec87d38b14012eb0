from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from loaded_run import loaded_run

from groundset.run import Run
from programs.types import Chunk, Document, Retrieval, Sample


def asked(name: str, document: str, **changes: Any) -> Sample:
    """Return a sample about the only chunk of a document."""
    text = f"All about {document}."
    place = {"doc_id": document, "path": f"{document}.md", "title": document, "start": 0, "end": len(text)}
    chunk = Chunk(chunk_id=f"{document}-0001", text=text, **place)
    made = Sample(
        id=name,
        question=changes.pop("question", f"What is {name}?"),
        answer="it",
        evolution=changes.pop("evolution", "simple"),
        language=changes.pop("language", "en"),
        contexts=(chunk,),
        retrieval_gt=changes.pop("retrieval_gt", ((chunk.chunk_id,),)),
        retrieval=Retrieval(rank=changes.pop("rank", 1), retrieved_id=chunk.chunk_id, retrieved_content=text, score=1),
        probability=changes.pop("probability", 0.75),
        trail=(),
        metadata={"kind": changes.pop("kind", "thing")},
    )
    return made.model_copy(update=changes)


@pytest.fixture
def sample() -> Callable[..., Sample]:
    return asked


@pytest.fixture
def run_of() -> Callable[..., Run]:
    """Return a run with these samples; without vectors all questions are orthogonal."""

    def run_of(*samples: Sample, vectors: Any = None) -> Run:
        chunks = list({chunk.chunk_id: chunk for each in samples for chunk in each.contexts}.values())
        width = max(len(samples), len(chunks)) if vectors is None else np.asarray(vectors).shape[1]
        return loaded_run(
            samples=list(samples),
            question_vectors=np.asarray(np.eye(len(samples), width) if vectors is None else vectors, np.float32),
            chunks=chunks,
            chunk_vectors=np.eye(len(chunks), width, dtype=np.float32),
            documents=[
                Document(doc_id=chunk.doc_id, path=chunk.path, title=chunk.title, text=chunk.text) for chunk in chunks
            ],
            rejects=[],
            reviews=[],
        )

    return run_of
