"""Prepare chunks: embed each once, and judge it with a head on the same vector."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from threading import local
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from groundset.bounded import usable_processors
from groundset.corpus.corpus import Corpus
from groundset.programs.heads import HeadJudge
from groundset.programs.outcome import Verdict, verdict
from groundset.retrieval.embed import Embedder

Vectors = NDArray[np.float32]
_FIRST_BATCH, _BATCH = (
    32,
    64,
)  # chunks; attempts on the first ones begin while the others are prepared


class Batch(NamedTuple):
    """Prepared chunks."""

    places: Sequence[int]  # their indexes in the corpus
    vectors: Vectors  # a row for each
    verdicts: list[Verdict]  # of the head on each; none without a head


def prepare_batches(
    corpus: Corpus,
    embedder: Embedder,  # embeds what prompts show of a chunk
    head: HeadJudge | None,
    order: Sequence[int]
    | None = None,  # the indexes of the chunks in the order in which they are wanted
    *,
    engine: str = "local",  # by threads that share the weights; or ``ray``, ``ray=ADDRESS``
) -> Iterator[Batch]:
    """Yield the chunks of a corpus in small batches, prepared.

    Raises:
        InputError: the cluster does not answer.
        StateError: the head was fitted with another embedder.
    """
    order = range(len(corpus.chunks)) if order is None else order
    edges = [0, *range(_FIRST_BATCH, len(order), _BATCH), len(order)]
    batches = [order[start:end] for start, end in pairwise(edges) if start < end]
    texts = ([corpus.chunks[place].passage for place in batch] for batch in batches)
    if engine == "local":
        embedded = _embedded_here(embedder, texts, min(len(batches), usable_processors()))
    else:
        from groundset.corpus.ray import mapped

        rows = mapped(engine, _Embed, (embedder,), [{"texts": batch} for batch in texts])
        embedded = (np.stack(row["vectors"]).astype(np.float32) for row in rows)
    for places, vectors in zip(batches, embedded, strict=True):
        chunks = [corpus.chunks[place] for place in places]
        inputs = [{"topic": chunk.topic, "passage": chunk.passage} for chunk in chunks]
        yield Batch(
            places, vectors, list(map(verdict, head.batch(inputs, vectors))) if head else []
        )


class _Embed:
    """Embeds batches of texts in a process of a cluster."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        return {"vectors": self._embedder.encode(list(row["texts"]))}


def _embedded_here(
    embedder: Embedder, batches: Iterator[list[str]], count: int
) -> Iterator[Vectors]:
    """Yield the vectors of each batch, by threads with a replica of the embedder each."""
    if count <= 1:
        yield from map(embedder.encode, batches)
        return
    replicas, own = iter([embedder, *(embedder.replica() for _ in range(count - 1))]), local()

    def take_replica() -> None:
        own.embedder = next(replicas)

    threads = ThreadPoolExecutor(count, initializer=take_replica)
    try:
        yield from threads.map(lambda texts: own.embedder.encode(texts), batches)
    finally:
        threads.shutdown(cancel_futures=True)
