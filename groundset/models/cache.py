"""The model cache: paths, recorded hashes and a lock per model.

Large files are hashed once. The SHA-256 is stored in the cache together with a stamp (size, times, inode and device),
and computed again only when the stamp changes. Size and modification time alone could be forged.
"""

import contextlib
import hashlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from groundset.files import write_text
from groundset.models.catalogue import ModelEntry, ModelFile
from programs.errors import InputError

SHA256 = re.compile("[0-9a-f]{64}")


def cache_home() -> Path:
    """Return groundset's cache folder: `GROUNDSET_HOME`, else a folder in the user's cache folder."""
    if home := os.environ.get("GROUNDSET_HOME"):
        return Path(home).expanduser().absolute()
    if cache := os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME"):
        return Path(cache).expanduser().absolute() / "groundset"
    return Path.home() / ".cache" / "groundset"


def entry_folder(entry: ModelEntry) -> Path:
    """Return the folder that holds the verified files of a catalogue entry."""
    return cache_home() / "models" / entry.name


def entry_path(entry: ModelEntry) -> Path:
    """Return the path to load: the file of a model with one file, else the folder."""
    folder = entry_folder(entry)
    return folder / entry.files[0].path if len(entry.files) == 1 else folder


def staging_folder(entry: ModelEntry) -> Path:
    """Return the folder for unfinished downloads of a catalogue entry."""
    return cache_home() / "partial" / entry.name


def is_cached(entry: ModelEntry) -> bool:
    """Return whether every file exists with the right size; hashes are not checked."""
    folder = entry_folder(entry)
    return all(
        (folder / file.path).is_file() and (folder / file.path).stat().st_size == file.size for file in entry.files
    )


def is_verified(file: ModelFile, path: Path) -> bool:
    """Return whether `path` holds exactly the bytes of `file`."""
    return path.is_file() and path.stat().st_size == file.size and file_sha256(path) == file.sha256


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file, from the record if its stamp is unchanged."""
    path = path.resolve()
    before = path.stat()
    known = _recorded(path, before)
    if known is not None:
        return known
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    record_sha256(path, digest, before)
    return digest


def record_sha256(path: Path, digest: str, seen: os.stat_result | None = None) -> None:
    """Record the SHA-256 of a file, unless it has changed since `seen`, its state before hashing.

    A cache that cannot be written is ignored: the file is hashed again next time.
    """
    path = path.resolve()
    now = path.stat()
    if seen is not None and _stamp(seen) != _stamp(now):
        return
    record = {"path": str(path), **_stamp(now), "sha256": digest}
    with contextlib.suppress(InputError):
        write_text(_record_path(path), json.dumps(record))


def _recorded(path: Path, state: os.stat_result) -> str | None:
    """Return the recorded hash of a file in this state, None without a valid record."""
    try:
        known = json.loads(_record_path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(known, dict) or {key: known.get(key) for key in _stamp(state)} != _stamp(state):
        return None
    digest = known.get("sha256")
    return digest if isinstance(digest, str) and SHA256.fullmatch(digest) else None


def _stamp(state: os.stat_result) -> dict[str, int]:
    """Return a stamp that changes when a file is written, moved or replaced, even with the same size and time."""
    return {
        "size": state.st_size,
        "mtime_ns": state.st_mtime_ns,
        "ctime_ns": state.st_ctime_ns,
        "inode": state.st_ino,
        "device": state.st_dev,
    }


def _record_path(path: Path) -> Path:
    key = hashlib.sha256(str(path).encode("utf-8", "surrogateescape")).hexdigest()[:32]
    return cache_home() / "hashes" / f"{key}.json"


@contextlib.contextmanager
def model_lock(name: str, on_wait: Callable[[], None]) -> Iterator[None]:
    """Hold the lock of a model across threads and processes; `on_wait` is called once if it has to wait.

    The operating system releases the lock when its holder dies.
    """
    folder = cache_home() / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / f"{name}.lock", poll_interval=0.2)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        on_wait()
        lock.acquire()
    try:
        yield
    finally:
        lock.release()
