"""Search the chunks of a run by text.

FAISS compares all rows and proposes the nearest. Their cosines are computed again in double
precision: the rounding of a library depends on its version, the batch and the processor, so ranks
would too. A search of 300,000 rows takes a third of a second on two cores.
"""

import threading
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from groundset.programs.text import plain
from groundset.programs.types import Chunk, Hit, Retrieval
from groundset.retrieval.embed import Embedder

Vectors = NDArray[np.float32]
Ranks = Sequence[int | None]  # of the groups of a question; None if one was not found

SEARCH_DEPTH = 50
UNRANKED = Retrieval(rank=None, retrieved_id="", retrieved_content="", score=0)
_SPARE = 10
_CLOSE = 1e-5  # more than the rounding error of two cosines of float32 rows
_PAIRS_AT_ONCE = 4096


class Index:
    """Search of all chunks of a run by cosine similarity; safe to share between threads."""

    def __init__(self, vectors: Vectors, chunks: Sequence[Chunk], embedder: Embedder) -> None:
        """Create an index of all chunks of a run; ``vectors`` has a row of length one for each."""
        self._rows = vectors
        self._chunks = chunks
        self._embedder = embedder
        self._places = {chunk.chunk_id: place for place, chunk in enumerate(chunks)}
        self._lock = threading.Lock()

    def search(self, query: str, limit: int = SEARCH_DEPTH) -> list[Hit]:
        """Return the chunks most similar to a query, the most similar first."""
        return self.search_many([query], limit)[0]

    def search_many(self, queries: Sequence[str], limit: int = SEARCH_DEPTH) -> list[list[Hit]]:
        """Search several queries at once; see :meth:`search`."""
        rankings = (
            self._search(self._embedder.encode(queries), limit)
            if len(self._rows)
            else [[] for _ in queries]
        )
        return [[self._hit(*found) for found in ranking] for ranking in rankings]

    def nearest(self, chunk_id: str, limit: int) -> list[Hit]:
        """Return the chunks most similar to a chunk, without itself, the most similar first."""
        place = self._places[chunk_id]
        (ranking,) = self._search(np.asarray(self._rows[place : place + 1]), limit + 1)
        return [self._hit(*found) for found in ranking if found[0] != place][:limit]

    def rank(self, question: str, groups: Sequence[Sequence[str]]) -> Retrieval:
        """Search for a question, and return the rank at which all groups of chunk ids are found."""
        (ranking,) = self._search(self._embedder.encode([question]), SEARCH_DEPTH)
        return round_trip([self._chunks[place] for place, _ in ranking], groups)

    def _search(self, vectors: Vectors, limit: int) -> list[list[tuple[int, float]]]:
        """Return places and similarities of the nearest chunks of each vector."""
        with self._lock:
            found = self._nearest_rows(vectors, min(limit, len(self._rows)))
        return [
            list(zip(*row, strict=True))
            for row in zip(found[0].tolist(), found[1].tolist(), strict=True)
        ]

    def _hit(self, place: int, similarity: float) -> Hit:
        chunk = self._chunks[place]
        return Hit(chunk.chunk_id, plain(chunk.text), chunk.topic, similarity)

    def _nearest_rows(
        self, vectors: Vectors, limit: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return places and cosines of the nearest rows, the most similar first, then by place."""
        import faiss

        vectors, depth = np.ascontiguousarray(vectors), min(limit + _SPARE, len(self._rows))
        while True:
            proposed = faiss.knn(vectors, self._rows, depth, metric=faiss.METRIC_INNER_PRODUCT)[1]
            places: NDArray[np.int64] = np.sort(proposed, axis=1)
            cosines = self._cosines(vectors, places)
            order = np.argsort(-cosines, axis=1, kind="stable")
            cosines = np.take_along_axis(cosines, order, axis=1)
            # A row that was not proposed may be as similar as the last result.
            is_cut = depth < len(self._rows) and bool(
                (cosines[:, limit - 1] - cosines[:, -1] < _CLOSE).any()
            )
            if not is_cut:
                return np.take_along_axis(places, order, axis=1)[:, :limit], cosines[:, :limit]
            depth = min(2 * depth, len(self._rows))

    def _cosines(self, vectors: Vectors, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the cosines of vectors and rows; equal rows give equal bits."""
        cosines = np.empty(places.shape, dtype=np.float64)
        step = max(1, _PAIRS_AT_ONCE // places.shape[1])
        for start in range(0, len(vectors), step):
            part = slice(start, start + step)
            cosines[part] = (
                self._rows[places[part]].astype(np.float64) * vectors[part, None, :]
            ).sum(axis=2)
        return np.clip(cosines, -1.0, 1.0)


def round_trip(ranking: Sequence[Chunk], groups: Sequence[Sequence[str]]) -> Retrieval:
    """Return the rank at which all groups of chunk ids are found in a ranking; None without groups.

    The rank of a group is the best rank of its chunks.
    """
    first = ranking[0]
    return Retrieval(
        rank=last_rank(ranks_of([chunk.chunk_id for chunk in ranking], groups)),
        retrieved_id=first.chunk_id,
        retrieved_content=first.text,
        score=1 if any(first.chunk_id in group for group in groups) else 0,
    )


def ranks_of(ranking: Sequence[str], groups: Sequence[Sequence[str]]) -> Ranks:
    """Return the best rank of the chunks of each group, None if none of them was found."""
    # Of what is found twice the first place counts.
    rank_of = {chunk_id: len(ranking) - n for n, chunk_id in enumerate(reversed(ranking))}
    found = [[rank_of[name] for name in group if name in rank_of] for group in groups]
    return [min(ranks, default=None) for ranks in found]


def last_rank(ranks: Ranks) -> int | None:
    """Return the rank at which all groups are found; None if one is not, or there are none."""
    found = [rank for rank in ranks if rank is not None]
    return max(found) if found and len(found) == len(ranks) else None


def settled(methods: Sequence[Sequence[int | None]], groups: Sequence[int]) -> tuple[int, int]:
    """Return how many questions tell no methods apart: that every one finds first, and that none
    finds.

    The ranks are those of the last group of each question; ``groups`` is how many it has.
    """
    found = list(zip(*methods, strict=True))
    first = sum(
        all(rank is not None and rank <= most for rank in ranks)
        for ranks, most in zip(found, groups, strict=True)
    )
    return first, sum(ranks.count(None) == len(ranks) for ranks in found)
