"""Search the chunks of a run by text.

A search compares all rows in single precision. The cosines of the nearest are computed again in
double precision: the rounding of a product of matrices depends on its version, the batch and the
processor, so ranks would too. A search of 300,000 rows takes a twentieth of a second on two cores.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from groundset.programs.types import Chunk, Hit, Retrieval
from groundset.retrieval.embed import Embedder

Vectors = NDArray[np.float32]
Ranks = Sequence[int | None]  # of the groups of a question; None if one was not found

SEARCH_DEPTH = 50
UNRANKED = Retrieval(rank=None, retrieved_id="", retrieved_content="", score=0)
_CLOSE = 1e-5  # more than the rounding error of two cosines of float32 rows
_AT_ONCE = 64  # queries; of 300,000 rows 80 MB


class Index:
    """Search of all chunks of a run by cosine similarity; safe to share between threads."""

    def __init__(self, vectors: Vectors, chunks: Sequence[Chunk], embedder: Embedder) -> None:
        """Create an index of all chunks of a run; ``vectors`` has a row of length one for each."""
        self._rows = vectors
        self._chunks = chunks
        self._embedder = embedder
        self._places = {chunk.chunk_id: place for place, chunk in enumerate(chunks)}

    def search(self, query: str, limit: int = SEARCH_DEPTH) -> list[Hit]:
        """Return the chunks most similar to a query, the most similar first."""
        return self.search_many([query], limit)[0]

    def search_many(self, queries: Sequence[str], limit: int = SEARCH_DEPTH) -> list[list[Hit]]:
        """Search several queries at once; see :meth:`search`."""
        vectors = self._embedder.encode(queries)
        return [
            [self._hit(*found) for found in ranking] for ranking in self._search(vectors, limit)
        ]

    def vector(self, chunk_id: str) -> Vectors:
        """Return the vector of a chunk, as a row."""
        place = self._places[chunk_id]
        return np.asarray(self._rows[place : place + 1])

    def nearest(self, chunk_id: str, limit: int) -> list[Hit]:
        """Return the chunks most similar to a chunk, without itself, the most similar first."""
        place = self._places[chunk_id]
        (ranking,) = self._search(self.vector(chunk_id), limit + 1)
        return [self._hit(*found) for found in ranking if found[0] != place][:limit]

    def rank(self, question: str, groups: Sequence[Sequence[str]]) -> Retrieval:
        """Search for a question, and return the rank at which all groups of chunk ids are found."""
        (ranking,) = self._search(self._embedder.encode([question]), SEARCH_DEPTH)
        return round_trip([self._chunks[place] for place, _ in ranking], groups)

    def _search(self, vectors: Vectors, limit: int) -> Iterator[list[tuple[int, float]]]:
        """Yield places and cosines of the nearest rows of each vector, the most similar first, then
        by place.
        """
        least = max(0, len(self._rows) - limit)  # its place among the sorted similarities
        for start in range(0, len(vectors), _AT_ONCE):
            some = vectors[start : start + _AT_ONCE]
            for vector, similar in zip(some, some @ self._rows.T, strict=True):
                places = np.arange(len(similar))
                if least:
                    places = np.flatnonzero(similar >= np.partition(similar, least)[least] - _CLOSE)
                cosines = (self._rows[places].astype(np.float64) * vector).sum(axis=1)
                order = np.argsort(-cosines, kind="stable")[:limit]
                nearest = np.clip(cosines[order], -1.0, 1.0)
                yield list(zip(places[order].tolist(), nearest.tolist(), strict=True))

    def _hit(self, place: int, similarity: float) -> Hit:
        chunk = self._chunks[place]
        return Hit(chunk.chunk_id, chunk.passage, chunk.topic, similarity)


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
