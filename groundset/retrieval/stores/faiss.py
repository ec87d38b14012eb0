"""FAISS: exact search in memory, and approximate search of many rows if there is a file for the index."""

from groundset.retrieval.stores.base import Backend, Indexes, StoreContents, StoreKind, Vectors
from groundset.retrieval.stores.codes import CodesBackend


class FaissBackend:
    """Rows that are all compared; the inner product of unit-length rows is their cosine."""

    index = "flat"
    recall = None

    def __init__(self, rows: Vectors) -> None:
        """Search the rows where they are."""
        self._rows = rows

    def propose(self, vectors: Vectors, limit: int) -> Indexes:
        """Return the indexes of the nearest rows."""
        import faiss

        indexes: Indexes = faiss.knn(vectors, self._rows, limit, metric=faiss.METRIC_INNER_PRODUCT)[1]
        return indexes

    def close(self) -> None:
        """Do nothing: the rows belong to the caller."""


def _open(contents: StoreContents) -> Backend:
    if contents.index_file is None or len(contents.rows) <= contents.exact_rows:
        return FaissBackend(contents.rows)
    return CodesBackend.opened(contents, contents.index_file)


FAISS = StoreKind("faiss", _open)
