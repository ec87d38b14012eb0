"""Vector stores for the embeddings of a run's chunks, one module per kind."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from groundset.retrieval.stores.base import SearchResults, StoreKind, Vectors, VectorStore
from groundset.retrieval.stores.faiss import FAISS
from groundset.retrieval.stores.qdrant import QDRANT
from programs.errors import InputError

STORES: Mapping[str, StoreKind] = {kind.name: kind for kind in (FAISS, QDRANT)}

__all__ = ["STORES", "SearchResults", "StoreKind", "VectorStore", "Vectors", "check_store", "open_store"]


def check_store(spec: str) -> None:
    """Check that ``open_store`` can open ``spec``, without writing.

    Raises:
        InputError: there is no such store, a dependency is missing, or its folder cannot be used.
    """
    kind, folder = _parse(spec)
    if kind.check:
        kind.check(folder)


def open_store(spec: str, ids: Sequence[str], vectors: Vectors) -> VectorStore:
    """Open a store of ``vectors``: ``faiss``, ``qdrant`` or ``qdrant:FOLDER``; the caller closes it.

    Args:
        spec: The kind of store and, after a colon, its folder.
        ids: The ids of the chunks; at least one.
        vectors: Their embeddings: a unit-length float32 row for each.

    Raises:
        InputError: as ``check_store``, or the folder is in use.
        ValueError: there is not exactly one row for each chunk.
    """
    if not len(ids) or vectors.ndim != 2 or len(vectors) != len(ids):
        raise ValueError(f"{len(ids)} chunks and vectors of shape {vectors.shape}")
    check_store(spec)
    kind, folder = _parse(spec)
    rows = np.ascontiguousarray(vectors, dtype=np.float32)
    return VectorStore(ids, rows, kind.open(ids, rows, folder))


def _parse(spec: str) -> tuple[StoreKind, Path | None]:
    name, colon, folder = spec.partition(":")
    kind = STORES.get(name)
    if kind is None:
        known = [
            option for kind in STORES.values() for option in (kind.name, f"{kind.name}:FOLDER")[: 1 + kind.takes_folder]
        ]
        raise InputError(f"--vector-store {spec}: no such store; choose one of {', '.join(known)}")
    if colon and not kind.takes_folder:
        raise InputError(f"--vector-store {spec}: {name} takes no folder")
    if colon and not folder.strip():
        raise InputError(f"--vector-store {spec}: the folder is missing after the colon")
    return kind, Path(folder).expanduser() if colon else None
