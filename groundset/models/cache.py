"""The cache of models: its folder, a lock per model, and hashes that are computed once.

The SHA-256 of a large file is stored with a stamp of the file (size, times, inode and device), and computed again only
when the stamp changes. Size and modification time alone could be forged.
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
from programs.errors import InputError

SHA256 = re.compile("[0-9a-f]{64}")


def cache_home() -> Path:
    """Return groundset's cache folder: ``GROUNDSET_HOME``, else a folder in the user's cache folder."""
    if home := os.environ.get("GROUNDSET_HOME"):
        return Path(home).expanduser().absolute()
    if cache := os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME"):
        return Path(cache).expanduser().absolute() / "groundset"
    return Path.home() / ".cache" / "groundset"


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file, from the cache if the file has not changed since it was computed."""
    path = path.resolve()
    record = cache_home() / "hashes" / (hashlib.sha256(os.fsencode(path)).hexdigest()[:32] + ".json")
    stamp = _stamp(path)
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
        known = json.loads(record.read_text(encoding="utf-8"))
        if known["stamp"] == stamp and SHA256.fullmatch(known["sha256"]):
            return str(known["sha256"])
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    if _stamp(path) == stamp:
        with contextlib.suppress(InputError):  # without a writable cache it is computed again next time
            write_text(record, json.dumps({"path": os.fsdecode(path), "stamp": stamp, "sha256": digest}))
    return digest


def _stamp(path: Path) -> list[int]:
    state = path.stat()
    return [state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino, state.st_dev]


@contextlib.contextmanager
def model_lock(name: str, on_wait: Callable[[], object]) -> Iterator[None]:
    """Hold the lock of a model across threads and processes; ``on_wait`` is called once if it has to wait.

    The operating system releases the lock when its holder dies.
    """
    folder = cache_home() / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / f"{name}.lock", poll_interval=0.2)
    try:
        held = lock.acquire(timeout=0)
    except Timeout:
        on_wait()
        held = lock.acquire()
    with held:
        yield
