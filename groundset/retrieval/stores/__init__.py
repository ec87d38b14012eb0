"""Vector stores for the embeddings of a run's chunks, one module per kind."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from groundset.retrieval.stores.base import (
    EXACT_ROWS,
    Phase,
    SearchResults,
    StoreContents,
    StoreKind,
    Vectors,
    VectorStore,
    no_phase,
)
from groundset.retrieval.stores.faiss import FAISS
from groundset.retrieval.stores.qdrant import QDRANT
from programs.errors import InputError

STORES: Mapping[str, StoreKind] = {kind.name: kind for kind in (FAISS, QDRANT)}

__all__ = [
    "STORES", "SearchResults", "StoreKind", "VectorStore", "Vectors", "check_store", "open_store", "receiving_host",
    "store_folder",
]  # fmt: skip


def check_store(spec: str) -> None:
    """Check that ``open_store`` can open ``spec``, without writing.

    Raises:
        InputError: there is no such store, a dependency is missing, its folder cannot be used, or its server does not
            answer.
    """
    kind, location = _parse(spec)
    if kind.check:
        kind.check(location)


def receiving_host(spec: str) -> str:
    """Return the host of a server on another machine that receives vectors; empty if there is none.

    Raises:
        InputError: there is no such store.
    """
    kind, location = _parse(spec)
    return "" if location is None else kind.host_of(location)


def store_folder(spec: str) -> str:
    """Return the folder in the specification of a store; empty if it names none."""
    name, _, location = spec.partition(":")
    return (location and name in STORES and STORES[name].folder_of(location)) or ""


def open_store(
    spec: str,
    ids: Sequence[str],
    vectors: Vectors,
    *,
    index_file: Path | None = None,
    phase: Phase = no_phase,
    exact_rows: int = EXACT_ROWS,
) -> VectorStore:
    """Open a store of ``vectors``: ``faiss``, ``qdrant``, ``qdrant:FOLDER`` or ``qdrant:URL``; the caller closes it.

    Args:
        spec: The kind of store and, after a colon, its location.
        ids: The ids of the chunks; at least one.
        vectors: Their embeddings: a unit-length float32 row for each.
        index_file: Where ``faiss`` keeps the index of an approximate search; without it, every search is exact.
        phase: Shows the progress of long work.
        exact_rows: Up to this number of rows, every search is exact.

    Raises:
        InputError: as ``check_store``, or the folder is in use.
        RunError: the index cannot be written.
        ValueError: there is not exactly one row for each chunk.
    """
    if not len(ids) or vectors.ndim != 2 or len(vectors) != len(ids):
        raise ValueError(f"{len(ids)} chunks and vectors of shape {vectors.shape}")
    check_store(spec)
    kind, location = _parse(spec)
    rows = np.ascontiguousarray(vectors, dtype=np.float32)
    return VectorStore(ids, rows, kind.open(StoreContents(ids, rows, location, index_file, phase, exact_rows)))


def _parse(spec: str) -> tuple[StoreKind, str | None]:
    name, colon, location = spec.partition(":")
    kind = STORES.get(name)
    if kind is None:
        known = [
            option
            for kind in STORES.values()
            for option in (kind.name, *(f"{kind.name}:{form}" for form in kind.locations))
        ]
        raise InputError(f"--vector-store {spec}: no such store; choose one of {', '.join(known)}")
    if colon and not kind.locations:
        raise InputError(f"--vector-store {spec}: {name} takes no folder")
    if colon and not location.strip():
        raise InputError(f"--vector-store {spec}: the folder or URL is missing after the colon")
    return kind, location if colon else None
