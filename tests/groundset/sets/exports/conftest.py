"""An evaluation set of two documents."""

from datetime import datetime

import numpy as np
import pytest
from evaluation_sets import EAST, cut, document, run_of, sample

from groundset.run import Run
from programs.types import Chunk, Document, Sample


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
def full_run(samples: list[Sample], chunks: list[Chunk], documents: list[Document]) -> Run:
    """Return the set; its vectors say that each chunk is most like its neighbours in the list, a question its first."""
    angles = np.linspace(0, 1, len(chunks))
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    return run_of(samples, chunks, documents, vectors)
