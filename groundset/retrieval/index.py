"""Retrieval over the chunks of a run: texts in, chunks out."""

import threading
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from groundset.retrieval.stores import VectorStore
from programs.types import Chunk, Hit, Retrieval

Encode = Callable[[Sequence[str]], NDArray[np.float32]]

SEARCH_DEPTH = 50


class ChunkIndex:
    """Searches all chunks of a run by cosine similarity; safe to share between threads."""

    def __init__(
        self, chunks: Sequence[Chunk], store: VectorStore, encode: Encode, *, depth: int = SEARCH_DEPTH
    ) -> None:
        """Search ``store`` for the chunks.

        Args:
            chunks: all chunks of the run.
            store: their embeddings; it stays open as long as the index is used.
            encode: embeds queries as the chunks were embedded.
            depth: how many hits a rank looks at.

        Raises:
            ValueError: the store holds other chunks.
        """
        if store.ids != tuple(chunk.chunk_id for chunk in chunks):
            raise ValueError(f"a store of {len(store)} other chunks than the {len(chunks)} of the run")
        self._chunks = chunks
        self._encode = encode
        self._depth = min(depth, len(chunks))
        self._store = store
        self._lock = threading.Lock()  # Qdrant's local mode promises nothing to threads

    def search(self, query: str, limit: int = SEARCH_DEPTH) -> list[Hit]:
        """Return the chunks most similar to a query, the most similar first."""
        return self.search_many([query], limit)[0]

    def search_many(self, queries: Sequence[str], limit: int = SEARCH_DEPTH) -> list[list[Hit]]:
        """Return for each query what ``search`` returns, all found in one go."""
        if not queries:
            return []
        vectors = self._encode(queries)
        with self._lock:
            found = self._store.search(vectors, limit)
        return [
            [self._hit(place, similarity) for place, similarity in zip(places, similarities, strict=True)]
            for places, similarities in zip(found.places.tolist(), found.similarities.tolist(), strict=True)
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

    def _hit(self, place: int, similarity: float) -> Hit:
        chunk = self._chunks[place]
        return Hit(chunk_id=chunk.chunk_id, text=chunk.text, similarity=similarity)
