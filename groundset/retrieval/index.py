"""Retrieval over the chunks of a run: FAISS inner products of unit-length embeddings."""

from collections.abc import Callable, Sequence
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray

from programs.types import Chunk, Hit, Retrieval

Encode = Callable[[Sequence[str]], NDArray[np.float32]]

SEARCH_DEPTH = 50


class ChunkIndex:
    """Searches all chunks of a run by cosine similarity; safe to share between threads."""

    def __init__(
        self, chunks: Sequence[Chunk], vectors: NDArray[np.float32], encode: Encode, *, depth: int = SEARCH_DEPTH
    ) -> None:
        """Index the chunks.

        Args:
            chunks: all chunks of the run; at least one.
            vectors: their embeddings, a row of length one for each.
            encode: embeds queries as the chunks were embedded.
            depth: how many hits a search looks at.

        Raises:
            ValueError: there is not exactly one row for each chunk.
        """
        if not chunks or vectors.ndim != 2 or len(vectors) != len(chunks):
            raise ValueError(f"{len(chunks)} chunks and vectors of shape {vectors.shape}")
        self._chunks = chunks
        self._encode = encode
        self._depth = min(depth, len(chunks))
        self._index: Any = faiss.IndexFlatIP(vectors.shape[1])
        self._index.add(np.ascontiguousarray(vectors, dtype=np.float32))

    def search(self, query: str, limit: int = SEARCH_DEPTH) -> list[Hit]:
        """Return the chunks most similar to a query, the most similar first."""
        similarities, places = self._index.search(self._encode([query]), min(limit, len(self._chunks)))
        return [
            Hit(
                chunk_id=self._chunks[place].chunk_id,
                text=self._chunks[place].text,
                similarity=min(1.0, max(-1.0, float(similarity))),
            )
            for similarity, place in zip(similarities[0], places[0], strict=True)
        ]

    def rank(self, query: str, relevant: tuple[str, ...]) -> Retrieval:
        """Return the round trip of ``query``: the best rank among the chunks ``relevant``."""
        hits = self.search(query, self._depth)
        ranks = (rank for rank, hit in enumerate(hits, 1) if hit.chunk_id in relevant)
        return Retrieval(
            rank=next(ranks, None),
            retrieved_id=hits[0].chunk_id,
            retrieved_content=hits[0].text,
            score=1 if hits[0].chunk_id in relevant else 0,
        )
