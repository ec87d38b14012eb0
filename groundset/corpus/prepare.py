"""Embed the chunks of a corpus, here or on a cluster."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groundset.corpus.corpus import Corpus
from groundset.corpus.ray import spread
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
    batches = [corpus.chunks[start : start + _BATCH] for start in starts]
    rows = [{"texts": [chunk.passage for chunk in batch]} for batch in batches]
    for row in spread(engine, rows, len(rows), _Embed, embedder):
        yield np.stack(row["vectors"]).astype(np.float32)


class _Embed:
    """Embeds batches of texts, in a thread or in a process of a cluster."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder.replica()  # shares the weights, but no lock

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        return {"vectors": self._embedder.encode(list(row["texts"]))}

    def close(self) -> None:
        """Let a batch be finished, which takes no time."""
