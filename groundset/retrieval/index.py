"""Search the chunks of a run by text."""

import threading
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from groundset.retrieval.stores import VectorStore
from programs.types import Chunk, Hit, Retrieval

Encode = Callable[[Sequence[str]], NDArray[np.float32]]

SEARCH_DEPTH = 50


class ChunkIndex:
    """Search all chunks of a run by cosine similarity; safe to share between threads."""

    def __init__(
        self, chunks: Sequence[Chunk], store: VectorStore, encode: Encode, *, depth: int = SEARCH_DEPTH
    ) -> None:
        """Create an index over ``store``.

        Args:
            chunks: all chunks of the run.
            store: their embeddings; must stay open while the index is used.
            encode: embeds queries like the chunks.
            depth: the number of hits considered for a rank.

        Raises:
            ValueError: the store contains other chunks.
        """
        if store.ids != tuple(chunk.chunk_id for chunk in chunks):
            raise ValueError(f"the store contains {len(store)} other chunks than the {len(chunks)} of the run")
        self._chunks = chunks
        self._encode = encode
        self._depth = min(depth, len(chunks))
        self._store = store
        self._rows = {name: row for row, name in enumerate(store.ids)}
        self._lock = threading.Lock()  # Qdrant's local mode is not thread-safe

    def search(self, query: str, limit: int = SEARCH_DEPTH) -> list[Hit]:
        """Return the chunks most similar to a query, the most similar first."""
        return self.search_many([query], limit)[0]

    def search_many(self, queries: Sequence[str], limit: int = SEARCH_DEPTH) -> list[list[Hit]]:
        """Search several queries in one batch; see ``search``."""
        if not queries:
            return []
        vectors = self._encode(queries)
        with self._lock:
            results = self._store.search(vectors, limit)
        return [
            [self._hit(index, similarity) for index, similarity in zip(indexes, similarities, strict=True)]
            for indexes, similarities in zip(results.indexes.tolist(), results.similarities.tolist(), strict=True)
        ]

    def near(self, chunk_id: str, limit: int) -> list[Hit]:
        """Return the chunks most similar to a chunk, without itself, the most similar first."""
        index = self._rows[chunk_id]
        with self._lock:
            results = self._store.search(self._store.rows[index : index + 1], limit + 1)
        pairs = zip(results.indexes[0].tolist(), results.similarities[0].tolist(), strict=True)
        return [hit for hit in (self._hit(*pair) for pair in pairs) if hit.chunk_id != chunk_id][:limit]

    def rank(self, query: str, relevant: Sequence[Sequence[str]]) -> Retrieval:
        """Search for ``query`` and return the rank at which all groups of ``relevant`` are found.

        The rank of a group is the best rank of its chunks.
        """
        return round_trip(self.search(query, self._depth), relevant)

    def _hit(self, index: int, similarity: float) -> Hit:
        chunk = self._chunks[index]
        return Hit(chunk_id=chunk.chunk_id, text=chunk.text, similarity=similarity, topic=chunk.topic)


def round_trip(hits: Sequence[Hit], relevant: Sequence[Sequence[str]]) -> Retrieval:
    """Return the rank at which all groups of ``relevant`` are found in the hits of a question; None without groups."""
    rank_of = {hit.chunk_id: rank for rank, hit in enumerate(hits, 1)}
    ranks = [min(rank_of[name] for name in group if name in rank_of) for group in relevant if rank_of.keys() & {*group}]
    return Retrieval(
        rank=max(ranks) if ranks and len(ranks) == len(relevant) else None,
        retrieved_id=hits[0].chunk_id,
        retrieved_content=hits[0].text,
        score=1 if any(hits[0].chunk_id in group for group in relevant) else 0,
    )
