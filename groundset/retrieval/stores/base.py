"""The vector store: backends propose the nearest rows, and the store sorts them."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
Indexes = NDArray[np.int64]

EXACT_ROWS = 100_000
"""Above, an exact search takes more than 50 ms of processor time for a query; see benchmarks/search_scale.py."""
_SPARE = 10
_CLOSE = 1e-5  # more than the rounding error of two cosines of float32 rows
_PROPOSALS = 1000  # of an approximate backend; see benchmarks/search_scale.py
_PAIRS_AT_ONCE = 4096

Phase = Callable[[str, int], AbstractContextManager[Callable[[int], None]]]
"""Shows a phase of so many items; the yielded function advances it."""


class Backend(Protocol):
    """The rows in a vector search library."""

    @property
    def index(self) -> str:
        """Return the kind of index, for ``run.json``."""
        ...

    @property
    def recall(self) -> "Recall | None":
        """Return the measured recall of an approximate index; None if the search is exact."""
        ...

    def propose(self, vectors: Vectors, limit: int) -> Indexes:
        """Return the indexes of the ``limit`` rows nearest to each vector; ``limit`` is at most the number of rows."""
        ...

    def close(self) -> None:
        """Free memory and files."""
        ...


class Recall(NamedTuple):
    """The share of the exact 10 nearest rows that a search finds, over so many queries."""

    at_10: float
    queries: int


def no_phase(doing: str, total: int) -> AbstractContextManager[Callable[[int], None]]:  # noqa: ARG001 - a `Phase`
    """Show nothing."""
    return nullcontext(lambda _: None)


@dataclass(frozen=True)
class StoreContents:
    """What a store is opened with.

    Attributes:
        ids: the chunk id of each row.
        rows: the embeddings, one unit-length row per chunk.
        location: what follows the name of the store in ``--vector-store``, if anything.
        index_file: where the index of an approximate search is kept; without it, the search is exact.
        phase: shows the progress of long work.
        exact_rows: up to this number of rows, the search is exact.
    """

    ids: Sequence[str]
    rows: Vectors
    location: str | None
    index_file: Path | None
    phase: Phase
    exact_rows: int


@dataclass(frozen=True)
class StoreKind:
    """A kind of store.

    Attributes:
        name: for ``--vector-store``.
        open: opens a backend.
        check: raises an ``InputError`` if no store can be opened at a location; writes nothing.
        locations: the forms of a location, for messages.
        folder_of: returns the folder at a location; None if the location is not a folder.
        host_of: returns the other machine at a location that receives vectors; empty if there is none.
    """

    name: str
    open: Callable[[StoreContents], Backend]
    check: Callable[[str | None], None] | None = None
    locations: tuple[str, ...] = ()
    folder_of: Callable[[str], str | None] = lambda _: None
    host_of: Callable[[str], str] = lambda _: ""


class SearchResults(NamedTuple):
    """Indexes of rows and their cosine similarities, the most similar first, then by index.

    Both have the shape (queries, limit).
    """

    indexes: Indexes
    similarities: NDArray[np.float64]


class VectorStore:
    """Unit-length rows of chunks, searched by cosine similarity; use as a context manager or close it.

    The rounding of a library depends on its version, the batch size and the processor. So the rows that it proposes are
    compared again in double precision, and every exact store gives the same order. An approximate one may miss rows.

    Attributes:
        ids: the chunk id of each row.
        rows: the embeddings, one unit-length row per chunk.
    """

    def __init__(self, ids: Sequence[str], vectors: Vectors, backend: Backend) -> None:
        """Wrap a backend that holds ``vectors``."""
        self.ids = tuple(ids)
        self.rows = vectors
        self._backend = backend

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.rows)

    def record(self) -> dict[str, Any]:
        """Return the entry of ``run.json``."""
        recall = self._backend.recall
        return {
            "index": self._backend.index,
            "rows": len(self),
            "exact": recall is None,
            "recall_at_10": 1.0 if recall is None else recall.at_10,
            "queries": 0 if recall is None else recall.queries,
        }

    def search(self, vectors: Vectors, limit: int) -> SearchResults:
        """Return the ``limit`` rows most similar to each of the unit-length ``vectors``, or all if there are fewer."""
        limit = min(limit, len(self))
        is_exact = self._backend.recall is None
        depth = min(limit + _SPARE if is_exact else max(2 * limit, _PROPOSALS), len(self))
        while True:
            indexes = np.sort(self._backend.propose(vectors, depth), axis=1)
            similarities = self._cosines(vectors, indexes)
            order = np.argsort(-similarities, axis=1, kind="stable")
            similarities = np.take_along_axis(similarities, order, axis=1)
            # A row that was not proposed may be as similar as the last result.
            is_cut = depth < len(self) and bool((similarities[:, limit - 1] - similarities[:, -1] < _CLOSE).any())
            if not (is_exact and is_cut):
                break
            depth = min(2 * depth, len(self))
        return SearchResults(np.take_along_axis(indexes, order, axis=1)[:, :limit], similarities[:, :limit])

    def _cosines(self, vectors: Vectors, indexes: Indexes) -> NDArray[np.float64]:
        """Return the cosines of vectors and rows; equal rows give equal bits."""
        cosines = np.empty(indexes.shape, dtype=np.float64)
        queries = max(1, _PAIRS_AT_ONCE // indexes.shape[1])
        for start in range(0, len(vectors), queries):
            part = slice(start, start + queries)
            products = self.rows[indexes[part]].astype(np.float64) * vectors[part, None, :]
            cosines[part] = products.sum(axis=2)
        return np.clip(cosines, -1.0, 1.0)

    def close(self) -> None:
        """Free memory and files."""
        self._backend.close()

    def __enter__(self) -> Self:
        """Return the store itself."""
        return self

    def __exit__(self, *exc_info: object) -> None:
        """Close the store."""
        self.close()
