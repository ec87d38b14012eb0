"""The run folder: which files it may hold, and its lock against a second process."""

import os
import re
import shutil
import stat
from collections.abc import Sequence
from pathlib import Path

from filelock import FileLock, Timeout

from groundset.files import why_not_made
from groundset.working_folders import is_leftover
from programs.errors import InputError, RunError

_DATABASE = "run.sqlite"
_LOCK = ".lock"
_CORPUS = "corpus"
_PART = re.compile(r"(documents|chunks|reading|vector)-\d{5,}\.parquet")
_WRITTEN_IN_PLACE = (_LOCK, *(f"{_DATABASE}{suffix}" for suffix in ("", "-wal", "-shm", "-journal")))


def database_path(folder: Path) -> Path:
    """Return the path of the SQLite file of a run."""
    return folder / _DATABASE


def part_path(folder: Path, kind: str, number: int) -> Path:
    """Return the path of a part of the corpus of a run."""
    return folder / _CORPUS / f"{kind}-{number:05}.parquet"


def index_path(folder: Path) -> Path:
    """Return the path of the index of an approximate search, which is built again if it is missing."""
    return folder / "search.index"


def holds_run(folder: Path) -> bool:
    """Return whether a folder holds a run.

    Raises:
        InputError: it holds other files, or is not a folder.
    """
    try:
        if not folder.exists():
            return False
        if not folder.is_dir():
            raise InputError(f"--out {folder}: is a file, not a folder")
        names = sorted(path.name for path in folder.iterdir())
        has_leftover = _is_leftover_corpus(folder)
    except OSError as error:
        raise InputError(f"--out {folder}: {error.strerror or error}") from error
    if _DATABASE in names:
        return True
    if has_leftover:
        names.remove(_CORPUS)
    foreign = [name for name in names if not (name.startswith((_DATABASE, _LOCK)) or is_leftover(name))]
    if foreign:
        raise InputError(
            f"--out {folder}: holds other files ({', '.join(foreign[:3])}) and no run; name an empty or a new folder"
        )
    return False


def _is_leftover_corpus(folder: Path) -> bool:
    """Return whether a folder without a database has only parts in its corpus; a killed process left them."""
    corpus = folder / _CORPUS
    if corpus.is_symlink() or not corpus.is_dir():
        return False
    return all(_PART.fullmatch(path.name) or is_leftover(path.name) for path in corpus.iterdir())


def remove_leftover_corpus(folder: Path) -> None:
    """Remove the parts of a process that ended before it wrote the database."""
    if _is_leftover_corpus(folder) and not database_path(folder).exists():
        shutil.rmtree(folder / _CORPUS)


def check_files(folder: Path) -> None:
    """Check that the files of a run that are written in place are regular files, and the folder of parts is a folder.

    Links in an untrusted folder could otherwise overwrite any file of the user.

    Raises:
        InputError: a file is a link or a device, or cannot be inspected; the message names it.
    """
    expected = dict.fromkeys(_WRITTEN_IN_PLACE, (stat.S_ISREG, "regular file")) | {_CORPUS: (stat.S_ISDIR, "folder")}
    for name, (is_right, kind) in expected.items():
        path = folder / name
        try:
            mode = path.lstat().st_mode
        except FileNotFoundError:
            continue
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
        if not is_right(mode):
            found = "a symbolic link" if stat.S_ISLNK(mode) else f"not a {kind}"
            raise InputError(f"{path} is {found}; replace it with a copy")


def check_part(file: Path) -> None:
    """Check that a part is a regular file, and no link to one.

    Raises:
        InputError: it is a link or a device.
        OSError: it cannot be inspected.
    """
    if not stat.S_ISREG(file.lstat().st_mode):
        raise InputError(f"{file} is not a regular file; replace it with a copy")


def check_free(folder: Path) -> None:
    """Check that a folder can become a new run.

    Raises:
        InputError: it is not empty, or cannot be created or written.
    """
    if check_usable(folder):
        raise InputError(f"--out {folder}: holds a run already; name an empty or a new folder")


def check_usable(folder: Path) -> bool:
    """Check that a run can be started or continued in a folder; return whether it holds one.

    Raises:
        InputError: it holds other files, or cannot be created or written.
    """
    exists = holds_run(folder)
    if reason := why_not_made(folder):
        raise InputError(f"--out {folder}: {reason}")
    return exists


class FolderLock:
    """A lock on a run folder; the operating system releases it when the process dies."""

    def __init__(self, folder: Path) -> None:
        """Acquire the lock.

        Raises:
            InputError: a file of the run is a link.
            RunError: another process holds the lock, or the folder cannot be written.
        """
        check_files(folder)
        self._lock = FileLock(folder / _LOCK)
        try:
            self._lock.acquire(timeout=0)
        except Timeout as error:
            raise RunError(f"another process is working on {folder}; wait for it or choose another --out") from error
        except OSError as error:
            raise RunError(f"{folder} cannot be written: {error.strerror or error}") from error

    def release(self) -> None:
        """Release the lock."""
        self._lock.release()


def make_folder(folder: Path) -> None:
    """Create the folder of a run if it is missing.

    Raises:
        InputError: it cannot be created or written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out {folder}: cannot be created: {error.strerror or error}") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"--out {folder}: cannot be written")


def check_distinct(folders: Sequence[Path]) -> None:
    """Raise an InputError if a run is named twice."""
    for index, folder in enumerate(folders):
        if folder.resolve() in [earlier.resolve() for earlier in folders[:index]]:
            raise InputError(f"RUN: {folder} is named twice")
