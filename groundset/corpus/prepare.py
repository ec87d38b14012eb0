"""Embed the chunks of a corpus, here or on a cluster."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import local
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groundset.bounded import usable_processors
from groundset.corpus.corpus import Corpus
from groundset.retrieval.embed import Embedder

Vectors = NDArray[np.float32]
_BATCH = 64  # chunks


def embedded(corpus: Corpus, embedder: Embedder, *, engine: str = "local") -> Iterator[Vectors]:
    """Yield the vectors of what prompts show of the chunks, in small batches.

    ``engine`` is ``local``, by threads that share the weights, or ``ray``, ``ray=ADDRESS``.

    Raises:
        InputError: the cluster does not answer.
    """
    starts = range(0, len(corpus.chunks), _BATCH)
    texts = ([chunk.passage for chunk in corpus.chunks[start : start + _BATCH]] for start in starts)
    if engine == "local":
        yield from _embedded_here(embedder, texts, min(len(starts), usable_processors()))
        return
    from groundset.corpus.ray import mapped

    rows = mapped(engine, _Embed, (embedder,), [{"texts": batch} for batch in texts])
    yield from (np.stack(row["vectors"]).astype(np.float32) for row in rows)


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
