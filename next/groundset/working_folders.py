"""Working folders for unfinished output: each belongs to one process and is removed when that ends.

The owner holds a lock in its folder, which the operating system releases when the process dies, so that other processes
can tell a folder in use from a leftover.
"""

import errno
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

_SUFFIX = ".groundset-part"
_LOCK = "owner.lock"
_LOCK_TIMEOUT_SECONDS = 1.0  # another process may hold the lock briefly to see whether the owner lives
_TRIES = 10
_BUSY = "another process is writing it; wait until it has ended, or choose another folder"


@contextmanager
def working_folder(place: Path, target: str | None = None) -> Iterator[Path]:
    """Yield a private folder inside ``place``, and remove it afterwards.

    Leftovers of dead processes in ``place`` are removed first.

    Args:
        place: an existing folder.
        target: a name that only one process can work on at a time.

    Raises:
        OSError: the folder cannot be created, or another process works on the target.
    """
    remove_leftovers(place)
    folder, lock = _owned_folder(place, target)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        lock.release()


def is_leftover(name: str) -> bool:
    """Return whether a file of this name is unfinished output."""
    return name.startswith(".") and _SUFFIX in name


def remove_leftovers(folder: Path) -> None:
    """Remove the unfinished output of dead processes from a folder, ignoring errors.

    Files and links come from earlier versions, which had no owners.
    """
    with suppress(OSError):
        for path in list(folder.iterdir()):
            if is_leftover(path.name):
                _remove_if_dead(path)


def _remove_if_dead(path: Path) -> None:
    with suppress(OSError):  # in use (Timeout is an OSError), or owned by another user
        if path.is_symlink() or not path.is_dir():
            path.unlink()
            return
        with FileLock(path / _LOCK).acquire(timeout=0):
            shutil.rmtree(path, ignore_errors=True)


def _owned_folder(place: Path, target: str | None) -> tuple[Path, FileLock]:
    for _ in range(_TRIES):
        if target is None:
            folder = Path(tempfile.mkdtemp(dir=place, prefix=".", suffix=_SUFFIX))
        else:
            # Hashed, because the name of the target may have the maximum length.
            folder = place / f".{hashlib.sha256(os.fsencode(target)).hexdigest()[:16]}{_SUFFIX}"
            folder.mkdir(mode=0o700, exist_ok=True)
        lock = FileLock(folder / _LOCK)
        # Before it is locked, another process may remove the folder as a leftover. Locking then creates it again with
        # the usual permissions, or fails.
        with suppress(FileNotFoundError):
            try:
                lock.acquire(timeout=_LOCK_TIMEOUT_SECONDS)
            except Timeout as error:
                raise OSError(errno.EBUSY, _BUSY) from error
            folder.chmod(0o700)
            return folder, lock
    raise OSError(errno.EBUSY, _BUSY)
