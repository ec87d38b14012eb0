"""The run folder: which files it may hold, and its lock against a second process."""

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from filelock import FileLock, Timeout

from groundset.files import why_not_made
from groundset.working_folders import is_leftover
from programs.errors import InputError, RunError

_DATABASE = "run.sqlite"
_LOCK = ".lock"
_OPENED = (_LOCK, *(f"{_DATABASE}{suffix}" for suffix in ("", "-wal", "-shm", "-journal")))  # and written in place


def database_path(folder: Path) -> Path:
    """Return where the SQLite file of a run lies."""
    return folder / _DATABASE


def holds_run(folder: Path) -> bool:
    """Return whether a folder holds a run.

    Raises:
        InputError: the folder holds something else, or is no folder.
    """
    try:
        if not folder.exists():
            return False
        if not folder.is_dir():
            raise InputError(f"--out {folder}: is a file, not a folder")
        names = sorted(path.name for path in folder.iterdir())
    except OSError as error:
        raise InputError(f"--out {folder}: {error.strerror or error}") from error
    begun = _DATABASE in names
    foreign = [name for name in names if not (name.startswith((_DATABASE, _LOCK)) or is_leftover(name))]
    if foreign and not begun:
        raise InputError(
            f"--out {folder}: holds other files ({', '.join(foreign[:3])}) and no run; name an empty or a new folder"
        )
    return begun


def check_files(folder: Path) -> None:
    """Refuse a run folder in which a file that is written in place is a link or a device.

    A folder that somebody else made could have anything on this machine written to.

    Raises:
        InputError: there is one, or the folder cannot be looked into; the message names it.
    """
    for path in (folder / name for name in _OPENED):
        try:
            mode = path.lstat().st_mode
        except FileNotFoundError:
            continue
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
        if not stat.S_ISREG(mode):
            what = "a link" if stat.S_ISLNK(mode) else "no ordinary file"
            raise InputError(f"{path} is {what}, and a run is used only where its files are its own: copy them there")


def check_free(folder: Path) -> None:
    """Refuse a folder that a new run cannot become.

    Raises:
        InputError: it holds a run or something else, or cannot be made or written.
    """
    if check_usable(folder):
        raise InputError(f"--out {folder}: holds a run already; name an empty or a new folder")


def check_usable(folder: Path) -> bool:
    """Refuse a folder in which no run can be started or continued; return whether it holds one.

    Raises:
        InputError: it holds something else, or cannot be made or written.
    """
    begun = holds_run(folder)
    if reason := why_not_made(folder):
        raise InputError(f"--out {folder}: {reason}")
    return begun


class FolderLock:
    """A lock on a run folder; the operating system frees it when its process dies, however it dies."""

    def __init__(self, folder: Path) -> None:
        """Take the lock.

        Raises:
            InputError: a file of the run is a link.
            RunError: another process has it, or the folder cannot be written.
        """
        check_files(folder)
        self._lock = FileLock(folder / _LOCK)
        try:
            self._lock.acquire(timeout=0)
        except Timeout as error:
            raise RunError(f"another process is working on {folder}; wait for it or name another --out") from error
        except OSError as error:
            raise RunError(f"{folder} cannot be written: {error.strerror or error}") from error

    def release(self) -> None:
        """Release the lock."""
        self._lock.release()


def make_folder(folder: Path) -> None:
    """Create the folder of a run if it is missing.

    Raises:
        InputError: it cannot be made or written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out {folder}: cannot be made: {error.strerror or error}") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"--out {folder}: cannot be written")


def check_distinct(folders: Sequence[Path]) -> None:
    """Raise an InputError if a run is named twice."""
    for index, folder in enumerate(folders):
        if folder.resolve() in [earlier.resolve() for earlier in folders[:index]]:
            raise InputError(f"RUN: {folder} is named twice")
