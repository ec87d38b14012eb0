"""Embed the chunks of a corpus, here or on a cluster."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groundset.bounded import usable_processors
from groundset.corpus.corpus import Corpus
from groundset.corpus.ray import by_threads, mapped
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
    if engine == "local":
        others = range(1, min(len(rows), usable_processors()))
        workers = [_Embed(embedder), *(_Embed(embedder.replica()) for _ in others)]
        answers = by_threads(workers, rows)
    else:
        answers = mapped(engine, _Embed, (embedder,), rows)
    for row in answers:
        yield np.stack(row["vectors"]).astype(np.float32)


class _Embed:
    """Embeds batches of texts, in a thread or in a process of a cluster."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        return {"vectors": self._embedder.encode(list(row["texts"]))}
