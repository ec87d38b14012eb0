"""A run to compare with: real documents and chunks in a real store, without a language model."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from groundset.corpus import CorpusOptions, build_corpus
from groundset.engine.config import make_config
from groundset.retrieval.index import ChunkIndex
from groundset.retrieval.stores import open_store
from groundset.store.run_store import RunStore
from groundset.store.tables import Verdict
from programs.types import Chunk, Sample


class Asked(NamedTuple):
    """A question about chunks; each group of them must be found."""

    question: str
    groups: tuple[tuple[Chunk, ...], ...]
    focus: str | None = None


def make_sample(asked: Asked, index: ChunkIndex) -> Sample:
    gt = tuple(tuple(chunk.chunk_id for chunk in group) for group in asked.groups)
    return Sample(
        id=asked.question,
        question=asked.question,
        answer="answer",
        evolution="simple",
        language="en",
        contexts=tuple(group[0] for group in asked.groups),
        retrieval_gt=gt,
        retrieval=index.rank(asked.question, gt),
        probability=0.9,
        trail=(),
        metadata={"focus": asked.focus} if asked.focus else {},
    )


def make_run(
    folder: Path, documents: Sequence[Path], ask: Any, embedder: Any, options: CorpusOptions, **configuration: Any
) -> list[Sample]:
    """Store a run over ``documents``; ``ask`` turns its chunks into questions."""
    corpus = build_corpus(documents, options)
    vectors = embedder.encode([chunk.text for chunk in corpus.chunks])
    store = open_store("faiss", [chunk.chunk_id for chunk in corpus.chunks], vectors)
    index = ChunkIndex(corpus.chunks, store, embedder.encode)
    samples = [make_sample(asked, index) for asked in ask(corpus.chunks)]
    given = {"embedder": embedder.name, "documents": tuple(documents), "max_rank": 0, **configuration}
    config = make_config({**options.model_dump(exclude={"duplicate_threshold"}), **given})
    meta = {
        "configuration": config.told(),
        "models": {"embedder": {"name": embedder.name, "sha256": embedder.sha256}},
    }
    with RunStore.create(folder, meta=meta, documents=corpus.documents, chunks=corpus.chunks) as store:
        ids = (chunk.chunk_id for chunk in corpus.chunks)
        store.learn("vector", zip(ids, (row.tobytes() for row in vectors), strict=True))
        for number, sample in enumerate(samples):
            vector = np.asarray(embedder.encode([sample.question])[0])
            store.results.decide(number, Verdict("simple", False), sample, vector, ())
    return samples


@pytest.fixture(scope="session")
def run_maker():
    return make_run


@pytest.fixture(scope="session")
def asked():
    return Asked
