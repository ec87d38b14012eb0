"""Working folders for what is not finished: each belongs to the process that fills it, and goes when that ends.

The owner holds a lock in its folder, which the operating system frees when the process dies, however it dies. So
whoever finds such a folder can tell whether somebody is at work in it or it was left behind.
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
_PATIENCE_SECONDS = 1.0  # for whoever looks whether the owner lives, which takes no time
_TRIES = 10
_BUSY = "another process is writing it; wait until that has ended, or name another place"


@contextmanager
def working_folder(place: Path, target: str | None = None) -> Iterator[Path]:
    """Yield a private folder in a folder, and remove it with all that is still in it.

    What dead processes left in ``place`` is removed first.

    Args:
        place: the folder to make it in; it has to be there.
        target: what is made, by name; meanwhile nobody else can work on the same one in ``place``.

    Raises:
        OSError: the folder cannot be made, or another process works on the target.
    """
    remove_leftovers(place)
    folder, lock = _owned_folder(place, target)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        lock.release()


def is_leftover(name: str) -> bool:
    """Return whether a file of this name is unfinished work, or lies beside such a one."""
    return name.startswith(".") and _SUFFIX in name


def remove_leftovers(folder: Path) -> None:
    """Remove the unfinished work of dead processes from a folder; what cannot be looked at or removed stays.

    Files and links among it come from earlier versions, which had no owners.
    """
    with suppress(OSError):
        for path in list(folder.iterdir()):
            if is_leftover(path.name):
                _remove_if_dead(path)


def _remove_if_dead(path: Path) -> None:
    with suppress(OSError):  # it is at work (Timeout is an OSError too), or somebody else's
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
            # A name of fixed length: that of the target may be as long as names can be.
            folder = place / f".{hashlib.sha256(os.fsencode(target)).hexdigest()[:16]}{_SUFFIX}"
            folder.mkdir(mode=0o700, exist_ok=True)
        lock = FileLock(folder / _LOCK)
        # Whoever met the folder before it was locked took it for a dead one, and removed it. The lock makes it again,
        # for everybody to read, or finds no folder.
        with suppress(FileNotFoundError):
            try:
                lock.acquire(timeout=_PATIENCE_SECONDS)
            except Timeout as error:
                raise OSError(errno.EBUSY, _BUSY) from error
            folder.chmod(0o700)
            return folder, lock
    raise OSError(errno.EBUSY, _BUSY)
