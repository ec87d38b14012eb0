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
        """Search several queries in one batch; see ``search``."""
        if not queries:
            return []
        vectors = self._encode(queries)
        with self._lock:
            found = self._store.search(vectors, limit)
        return [
            [self._hit(place, similarity) for place, similarity in zip(places, similarities, strict=True)]
            for places, similarities in zip(found.places.tolist(), found.similarities.tolist(), strict=True)
        ]

    def near(self, chunk_id: str, limit: int) -> list[Hit]:
        """Return the chunks most similar to a chunk, itself left out, the most similar first."""
        place = self._store.ids.index(chunk_id)
        with self._lock:
            found = self._store.search(self._store.rows[place : place + 1], limit + 1)
        hits = [self._hit(*pair) for pair in zip(found.places[0].tolist(), found.similarities[0].tolist(), strict=True)]
        return [hit for hit in hits if hit.chunk_id != chunk_id][:limit]

    def rank(self, query: str, relevant: Sequence[Sequence[str]]) -> Retrieval:
        """Return the round trip of ``query``: the rank at which the last group of ``relevant`` is found.

        A group is found where the first of its chunks is.
        """
        return round_trip(self.search(query, self._depth), relevant)

    def _hit(self, place: int, similarity: float) -> Hit:
        chunk = self._chunks[place]
        return Hit(chunk_id=chunk.chunk_id, text=chunk.text, similarity=similarity)


def round_trip(hits: Sequence[Hit], relevant: Sequence[Sequence[str]]) -> Retrieval:
    """Return where the last group of ``relevant`` is among the hits of a question, the most similar first."""
    places = {hit.chunk_id: rank for rank, hit in enumerate(hits, 1)}
    found = [min((places[name] for name in group if name in places), default=None) for group in relevant]
    ranks = [rank for rank in found if rank is not None]
    return Retrieval(
        rank=max(ranks) if len(ranks) == len(found) else None,
        retrieved_id=hits[0].chunk_id,
        retrieved_content=hits[0].text,
        score=1 if any(hits[0].chunk_id in group for group in relevant) else 0,
    )
