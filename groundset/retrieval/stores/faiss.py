"""FAISS: exact search in memory."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from groundset.retrieval.stores.base import Indexes, StoreKind, Vectors


class FaissBackend:
    """Rows in an ``IndexFlatIP``; the inner product of unit-length rows is their cosine."""

    def __init__(self, vectors: Vectors) -> None:
        """Index the rows."""
        import faiss

        self._index: Any = faiss.IndexFlatIP(vectors.shape[1])
        self._index.add(vectors)

    def propose(self, vectors: Vectors, limit: int) -> Indexes:
        """Return the indexes of the nearest rows."""
        indexes: Indexes = self._index.search(vectors, limit)[1]
        return indexes

    def close(self) -> None:
        """Free the rows."""
        self._index.reset()


def _open(ids: Sequence[str], vectors: Vectors, folder: Path | None) -> FaissBackend:  # noqa: ARG001 - one signature for all
    return FaissBackend(vectors)


FAISS = StoreKind("faiss", _open)
