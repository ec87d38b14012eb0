"""Vector stores: where the vectors of a run's chunks are searched. One file and one row of a table for each kind."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from groundset.retrieval.stores.base import Found, StoreKind, Vectors, VectorStore
from groundset.retrieval.stores.faiss import FAISS
from groundset.retrieval.stores.qdrant import QDRANT
from programs.errors import InputError

STORES: Mapping[str, StoreKind] = {kind.name: kind for kind in (FAISS, QDRANT)}

__all__ = ["STORES", "Found", "StoreKind", "VectorStore", "Vectors", "check_store", "open_store"]


def check_store(spec: str) -> None:
    """Check that ``open_store`` can open what ``spec`` names; nothing is written.

    Raises:
        InputError: there is no such store, something that it needs is missing, or its folder cannot be used.
    """
    kind, folder = _parse(spec)
    if kind.check:
        kind.check(folder)


def open_store(spec: str, ids: Sequence[str], vectors: Vectors) -> VectorStore:
    """Return a store of ``vectors``: ``faiss``, ``qdrant`` or ``qdrant:FOLDER``; whoever opens it closes it.

    Args:
        spec: The kind of store and, after a colon, the folder it lies in.
        ids: The chunks; at least one.
        vectors: Their embeddings: a float32 row of length one for each.

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
        raise InputError(f"--vector-store {spec}: no folder is named")
    return kind, Path(folder).expanduser() if colon else None
