"""The chunks of a run: which are asked about, and their embeddings, which are made once."""

from collections.abc import Sequence
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np

from groundset.corpus.corpus import Corpus
from groundset.corpus.prepare import Vectors, embedded
from groundset.printing import Progress
from groundset.programs.types import Chunk, Sample
from groundset.retrieval.embed import Embedder
from groundset.retrieval.index import Index
from groundset.run.options import GenerateOptions
from groundset.run.run import Run, read_vectors, save_run, write_vectors
from groundset.run.store import Store


def askable(corpus: Corpus, options: GenerateOptions) -> list[Chunk]:
    """Return the chunks that are asked about: no copies, and of your own those of some length if
    all are to be.
    """
    shortest = options.min_length if options.row.size is None else 0
    return [
        chunk
        for chunk in map(corpus.chunks.__getitem__, corpus.order(options.seed))
        if "copy_of" not in chunk.metadata and len(chunk.text) >= shortest
    ]


def prepared(
    corpus: Corpus,
    embedder: Embedder,
    engine: str,
    store: Store,
    progress: Progress,
    stopped: Event,
) -> Index:
    """Return the search of all chunks, which are embedded unless an earlier process has.

    If the run is ``stopped`` meanwhile, the search is good for nothing, and the next process embeds
    them.
    """
    folder = store.path.parent
    if store.meta("prepared"):
        return Index(read_vectors(folder, len(corpus.chunks)), corpus.chunks, embedder)
    vectors = _vectors(corpus, embedder, progress, engine, stopped)
    if not stopped.is_set():
        write_vectors(folder, vectors)
        store.set_meta("prepared", True)
    return Index(vectors, corpus.chunks, embedder)


def save_ranked(
    out: Path,
    embedder: Embedder,
    progress: Progress,
    corpus: Corpus,
    samples: Sequence[Sample],
    record: dict[str, Any],
    **more: Any,
) -> Run:
    """Write a run that was not generated: its chunks are embedded, and its questions are ranked;
    see :func:`groundset.run.run.save_run`.
    """
    vectors = _vectors(corpus, embedder, progress)
    progress.phase("Ranking questions")
    index = Index(vectors, corpus.chunks, embedder)
    ranked = [
        each.model_copy(update={"retrieval": index.rank(each.question, each.retrieval_gt)})
        for each in samples
    ]
    used = {"name": embedder.name, "sha256": embedder.sha256}
    configuration = {"recipe": None, **record.get("configuration", {}), "embedder": embedder.name}
    return save_run(
        out,
        corpus,
        samples=ranked,
        vectors=vectors,
        asked=embedder.encode([sample.question for sample in samples]),
        record={**record, "configuration": configuration, "models": {"embedder": used}},
        **more,
    )


def _vectors(
    corpus: Corpus,
    embedder: Embedder,
    progress: Progress,
    engine: str = "local",
    stopped: Event | None = None,
) -> Vectors:
    """Return the embeddings of the chunks, a row for each; some are missing if it is stopped."""
    progress.phase("Embedding chunks", len(corpus.chunks))
    vectors = np.zeros((len(corpus.chunks), embedder.dimension), dtype=np.float32)
    done = 0
    for batch in embedded(corpus, embedder, engine=engine):
        if stopped and stopped.is_set():
            break
        vectors[done : done + len(batch)] = batch
        done += len(batch)
        progress.advance(len(batch))
    return vectors
