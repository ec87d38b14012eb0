"""Search the chunks of a run by text.

FAISS compares all rows, in 30 ms for a query among 100,000 on two cores.
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
_DIGITS = 5  # of a cosine: below is the rounding of float32, which differs between processors


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
        import faiss

        depth = min(limit, len(self._rows))
        found = faiss.knn(
            np.ascontiguousarray(vectors), self._rows, depth, metric=faiss.METRIC_INNER_PRODUCT
        )
        for similar, places in zip(*found, strict=True):
            cosines = np.clip(similar, -1.0, 1.0)
            order = np.lexsort((places, -cosines.round(_DIGITS)))
            yield list(zip(places[order].tolist(), cosines[order].tolist(), strict=True))

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
