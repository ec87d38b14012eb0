"""What a vector store is: a library proposes the nearest rows, and one place puts them in order."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
Places = NDArray[np.int64]

_SPARE = 10
_CLOSE = 1e-5  # more than two cosines of float32 rows can be off, whichever way a library sums them
_QUERIES_AT_ONCE = 64


class Backend(Protocol):
    """The rows in one library."""

    def propose(self, vectors: Vectors, limit: int) -> Places:
        """Return the places of the ``limit`` rows nearest to each vector, a row for each; at most all there are."""
        ...

    def close(self) -> None:
        """Free memory and files."""
        ...


@dataclass(frozen=True)
class StoreKind:
    """A kind of store: its name, a function that opens one, and one that checks a folder before anything is written.

    ``open`` is given chunk ids, rows and the folder that was named, if any. ``check`` is given the folder and raises an
    ``InputError`` if a store cannot be opened there; kinds that keep nothing on disk take no folder.
    """

    name: str
    open: Callable[[Sequence[str], Vectors, Path | None], Backend]
    check: Callable[[Path | None], None] | None = None
    takes_folder: bool = False


class Found(NamedTuple):
    """What a search found: places of rows and their cosine similarities, the most similar first, a row for each query.

    Both have the shape (queries, limit). Rows equally similar come in the order of their places.
    """

    places: Places
    similarities: NDArray[np.float64]


class VectorStore:
    """Unit-length rows of chunks, searched by cosine similarity; use as a context manager or close it.

    A library only proposes. How its sums round depends on the library, on how many are searched at once and on the
    processor, so what it proposes is measured again in double precision: every store gives the same order.

    Attributes:
        ids: the chunk of each row.
        rows: the embeddings, a row of length one for each chunk.
    """

    def __init__(self, ids: Sequence[str], vectors: Vectors, backend: Backend) -> None:
        """Wrap a backend that holds ``vectors``."""
        self.ids = tuple(ids)
        self.rows = vectors
        self._backend = backend

    def __len__(self) -> int:
        """Return how many rows there are."""
        return len(self.ids)

    def search(self, vectors: Vectors, limit: int) -> Found:
        """Return the ``limit`` rows most similar to each of the unit-length ``vectors``, or all if there are fewer."""
        wanted = min(limit, len(self))
        depth = min(wanted + _SPARE, len(self))
        while True:
            places = np.sort(self._backend.propose(vectors, depth), axis=1)
            similarities = self._measure(vectors, places)
            order = np.argsort(-similarities, axis=1, kind="stable")
            similarities = np.take_along_axis(similarities, order, axis=1)
            # A row that was not proposed may be as similar as the last of those wanted.
            is_cut = depth < len(self) and bool((similarities[:, wanted - 1] - similarities[:, -1] < _CLOSE).any())
            if not is_cut:
                break
            depth = min(2 * depth, len(self))
        return Found(np.take_along_axis(places, order, axis=1)[:, :wanted], similarities[:, :wanted])

    def _measure(self, vectors: Vectors, places: Places) -> NDArray[np.float64]:
        """Return the cosines of vectors and rows; equal rows give equal bits."""
        measured = np.empty(places.shape, dtype=np.float64)
        for start in range(0, len(vectors), _QUERIES_AT_ONCE):
            part = slice(start, start + _QUERIES_AT_ONCE)
            products = self.rows[places[part]].astype(np.float64) * vectors[part, None, :]
            measured[part] = products.sum(axis=2)
        return np.clip(measured, -1.0, 1.0)

    def close(self) -> None:
        """Free memory and files."""
        self._backend.close()

    def __enter__(self) -> Self:
        """Return the store itself."""
        return self

    def __exit__(self, *exc_info: object) -> None:
        """Close the store."""
        self.close()
