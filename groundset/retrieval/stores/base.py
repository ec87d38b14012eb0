"""The vector store: backends propose the nearest rows, and the store sorts them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
Indexes = NDArray[np.int64]

_SPARE = 10
_CLOSE = 1e-5  # more than the rounding error of two cosines of float32 rows
_QUERIES_AT_ONCE = 64


class Backend(Protocol):
    """The rows in a vector search library."""

    def propose(self, vectors: Vectors, limit: int) -> Indexes:
        """Return the indexes of the ``limit`` rows nearest to each vector; ``limit`` is at most the number of rows."""
        ...

    def close(self) -> None:
        """Free memory and files."""
        ...


@dataclass(frozen=True)
class StoreKind:
    """A kind of store.

    Attributes:
        name: for ``--vector-store``.
        open: opens a backend with chunk ids, rows and an optional folder.
        check: raises an ``InputError`` if no store can be opened in the folder; writes nothing.
        takes_folder: whether it can be stored in a folder.
    """

    name: str
    open: Callable[[Sequence[str], Vectors, Path | None], Backend]
    check: Callable[[Path | None], None] | None = None
    takes_folder: bool = False


class SearchResults(NamedTuple):
    """Indexes of rows and their cosine similarities, the most similar first, then by index.

    Both have the shape (queries, limit).
    """

    indexes: Indexes
    similarities: NDArray[np.float64]


class VectorStore:
    """Unit-length rows of chunks, searched by cosine similarity; use as a context manager or close it.

    The rounding of a library depends on its version, the batch size and the processor. So the rows that it proposes are
    compared again in double precision, and every store gives the same order.

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
        return len(self.ids)

    def search(self, vectors: Vectors, limit: int) -> SearchResults:
        """Return the ``limit`` rows most similar to each of the unit-length ``vectors``, or all if there are fewer."""
        limit = min(limit, len(self))
        depth = min(limit + _SPARE, len(self))
        while True:
            indexes = np.sort(self._backend.propose(vectors, depth), axis=1)
            similarities = self._cosines(vectors, indexes)
            order = np.argsort(-similarities, axis=1, kind="stable")
            similarities = np.take_along_axis(similarities, order, axis=1)
            # A row that was not proposed may be as similar as the last result.
            is_cut = depth < len(self) and bool((similarities[:, limit - 1] - similarities[:, -1] < _CLOSE).any())
            if not is_cut:
                break
            depth = min(2 * depth, len(self))
        return SearchResults(np.take_along_axis(indexes, order, axis=1)[:, :limit], similarities[:, :limit])

    def _cosines(self, vectors: Vectors, indexes: Indexes) -> NDArray[np.float64]:
        """Return the cosines of vectors and rows; equal rows give equal bits."""
        cosines = np.empty(indexes.shape, dtype=np.float64)
        for start in range(0, len(vectors), _QUERIES_AT_ONCE):
            part = slice(start, start + _QUERIES_AT_ONCE)
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
