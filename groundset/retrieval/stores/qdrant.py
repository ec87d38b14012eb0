"""Qdrant: a server, or the local mode of its client, without a server or network, in memory or in a folder.

A folder is filled again whenever a store is opened in it: the vectors are in the run's database anyway, filling takes
about a second for 1,500 of them, and the client would unpickle existing files, which groundset never does. After the
store is closed, any Qdrant client can open the folder: the collection is `chunks`, the id of a point the index of the
chunk in the run, its payload the chunk id.
"""

import importlib.util
import os
import re
import shutil
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from filelock import BaseFileLock, FileLock, Timeout

from groundset.retrieval.stores.base import Backend, Indexes, StoreContents, StoreKind, Vectors
from groundset.retrieval.stores.qdrant_server import QdrantServerBackend, check_server, server_host
from programs.errors import InputError

_COLLECTION = "chunks"
_LOCK = "groundset.lock"  # held while a store is open; also marks a folder filled by groundset
_STORE_FILES = frozenset({_LOCK, ".lock", "meta.json", "meta.json.tmp", "collection"})
_BATCH = 512


class QdrantBackend:
    """Rows in a local collection, as points numbered by their indexes."""

    index = "flat"
    recall = None

    def __init__(self, ids: Sequence[str], vectors: Vectors, folder: Path | None) -> None:
        """Create and fill a collection, in memory without a folder.

        Raises:
            InputError: the folder is in use, or cannot be written.
        """
        self._lock = _claim(folder) if folder else None
        try:
            with _clear_errors(folder), _quiet():
                self._client = _open_client(folder)
                self._fill(ids, vectors)
        except BaseException:
            if self._lock:
                self._lock.release()
            raise

    def _fill(self, ids: Sequence[str], vectors: Vectors) -> None:
        from qdrant_client import models

        sized = models.VectorParams(size=vectors.shape[1], distance=models.Distance.DOT)
        self._client.create_collection(_COLLECTION, vectors_config=sized)
        for start in range(0, len(ids), _BATCH):
            part = slice(start, start + _BATCH)
            self._client.upsert(
                _COLLECTION,
                models.Batch(
                    ids=list(range(len(ids))[part]),
                    vectors=vectors[part].tolist(),
                    payloads=[{"chunk_id": chunk_id} for chunk_id in ids[part]],
                ),
            )

    def propose(self, vectors: Vectors, limit: int) -> Indexes:
        """Return the indexes of the nearest rows."""
        from qdrant_client import models

        with _quiet():
            answers = self._client.query_batch_points(
                _COLLECTION, [models.QueryRequest(query=row, limit=limit) for row in vectors.tolist()]
            )
        return np.array([[point.id for point in answer.points] for answer in answers], dtype=np.int64)

    def close(self) -> None:
        """Close the collection and release its folder."""
        self._client.close()
        if self._lock:
            self._lock.release()


def _open_client(folder: Path | None) -> Any:
    from qdrant_client import QdrantClient

    if folder is None:
        return QdrantClient(":memory:")
    # A run may be closed by another thread.
    return QdrantClient(path=str(folder), force_disable_check_same_thread=True)


def _is_server(location: str | None) -> bool:
    return location is not None and re.match(r"\w+://", location) is not None


def _open(contents: StoreContents) -> Backend:
    location = contents.location
    if location is not None and _is_server(location):
        return QdrantServerBackend(contents, location)
    return QdrantBackend(contents.ids, contents.rows, _folder(location))


def _check(location: str | None) -> None:
    if location is not None and _is_server(location):
        check_server(location)
    else:
        _check_folder(_folder(location))


def _folder(location: str | None) -> Path | None:
    return None if location is None else Path(location).expanduser()


def _check_folder(folder: Path | None) -> None:
    """Check the folder without writing.

    Raises:
        InputError: qdrant-client is not installed, or the folder contains other files or cannot be written.
    """
    if importlib.util.find_spec("qdrant_client") is None:
        raise InputError("--vector-store qdrant: needs qdrant-client: pip install 'groundset[qdrant]'")
    if folder is None:
        return
    with _clear_errors(folder):
        if folder.exists():
            if not folder.is_dir():
                raise InputError(f"--vector-store qdrant:{folder}: is a file, not a folder")
            names = {path.name for path in folder.iterdir()}
            if names and (_LOCK not in names or names - _STORE_FILES):
                raise InputError(f"--vector-store qdrant:{folder}: contains other files; name an empty or new folder")
        there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
        if not (there.is_dir() and os.access(there, os.W_OK | os.X_OK)):
            raise InputError(f"--vector-store qdrant:{folder}: cannot be written")


def _claim(folder: Path) -> BaseFileLock:
    """Lock the folder and delete an earlier store in it."""
    _check_folder(folder)
    lock = FileLock(folder / _LOCK)
    with _clear_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(timeout=0)
        except Timeout as error:
            raise InputError(f"--vector-store qdrant:{folder}: another process uses it") from error
        try:
            for path in folder.iterdir():
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                elif path.name != _LOCK:
                    path.unlink()
        except BaseException:
            lock.release()
            raise
    return lock


@contextmanager
def _clear_errors(folder: Path | None) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"--vector-store qdrant:{folder}: {error.strerror or error}") from error


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress the client's advice to use a server for more than 20,000 points."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Local mode is not recommended", category=UserWarning)
        yield


QDRANT = StoreKind(
    "qdrant",
    _open,
    _check,
    locations=("FOLDER", "URL"),
    folder_of=lambda location: None if _is_server(location) else location,
    host_of=lambda location: server_host(location) if _is_server(location) else "",
)
