"""Embed texts on an executor; the vectors are the same bytes on each."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from groundset.executors import Executor

# A multiple of the embedder's batches, so that texts share a batch with the same others as without slices.
_SLICE = 256


class Embed(Protocol):
    """Embeds many texts; see :meth:`groundset.retrieval.embedder.Embedder.encode_corpus`."""

    def __call__(self, texts: Sequence[str], *, on_done: Callable[[int], None]) -> Any:
        """Return a row for each text; ``on_done`` receives the size of each finished batch."""
        ...


@dataclass(frozen=True)
class _EmbedTexts:
    """An operator that embeds slices of texts."""

    encode_corpus: Embed

    @contextmanager
    def load(self) -> Iterator[Callable[[Sequence[str]], Any]]:
        """Yield a function that embeds a slice."""
        yield lambda texts: self.encode_corpus(texts, on_done=lambda _: None)

    def name(self, item: Sequence[str]) -> str:
        """Return the beginning of the first text."""
        return f"embedding {len(item)} texts from {item[0]:.40}"


def embed_texts(texts: Sequence[str], encode_corpus: Embed, executor: Executor, on_done: Callable[[int], None]) -> Any:
    """Return a row for each text; on this machine computed by threads, which share the weights."""
    if executor.is_local:
        return encode_corpus(texts, on_done=on_done)
    order = sorted(range(len(texts)), key=lambda index: -len(texts[index]))  # as the embedder sorts them
    slices = [[texts[index] for index in order[start : start + _SLICE]] for start in range(0, len(order), _SLICE)]
    rows = []
    with closing(executor.map(_EmbedTexts(encode_corpus), slices, parts=len(slices))) as embedded:
        for found in embedded:
            rows.append(found)
            on_done(len(found))
    joined = np.concatenate(rows)
    vectors = np.empty_like(joined)
    vectors[order] = joined
    return vectors
