"""The run folder: which files it may hold, and the lock of the one process that works on it."""

import stat
from pathlib import Path

from filelock import FileLock, Timeout

from groundset.files import is_leftover, why_not_made
from programs.errors import InputError, RunError

DATABASE, VECTORS, CORPUS = "run.sqlite", "vectors.npy", "corpus"
RECORD, SAMPLES, REJECTS = "run.json", "samples.jsonl", "rejects.jsonl"
_LOCK = ".lock"
_FILES = (_LOCK, VECTORS, *(DATABASE + suffix for suffix in ("", "-wal", "-shm", "-journal")))


def holds_run(folder: Path) -> bool:
    """Return whether a folder holds a run; a run can be begun where it holds none.

    Raises:
        InputError: it holds other files, is no folder, or cannot be created or written; the message names ``--out``.
    """
    if reason := why_not_made(folder):
        raise InputError(f"--out {folder}: {reason}")
    if not folder.exists():
        return False
    if not folder.is_dir():
        raise InputError(f"--out {folder}: is a file, not a folder")
    names = {path.name for path in folder.iterdir() if not is_leftover(path.name)}
    if DATABASE in names:
        return True
    # A process that was killed before it wrote the database has left a corpus, or an empty log.
    if others := sorted(names - {CORPUS, *_FILES}):
        raise InputError(f"--out {folder}: holds other files ({', '.join(others[:3])}) and no run; name a new folder")
    return False


def check_new(folder: Path) -> None:
    """Check that a folder can become a new run.

    Raises:
        InputError: it holds a run, or see :func:`holds_run`.
    """
    if holds_run(folder):
        raise InputError(f"--out {folder}: holds a run already; name a new folder")


def check_links(folder: Path) -> None:
    """Check that nothing in a run folder leads elsewhere: links in a stranger's folder could overwrite any file.

    Raises:
        InputError: a file is a link or a device, or cannot be inspected; the message names it.
    """
    corpus = folder / CORPUS
    try:
        inner = list(corpus.iterdir()) if corpus.is_dir() and not corpus.is_symlink() else []
        for path in (*(folder / name for name in _FILES), corpus, *inner):
            try:
                mode = path.lstat().st_mode
            except FileNotFoundError:
                continue
            if not (stat.S_ISDIR(mode) if path == corpus else stat.S_ISREG(mode)):
                found = "a symbolic link" if stat.S_ISLNK(mode) else "not a regular file"
                raise InputError(f"{path} is {found}; replace it with a copy")
    except OSError as error:
        raise InputError(f"{folder} cannot be read: {error.strerror or error}") from error


def locked(folder: Path) -> FileLock:
    """Return the acquired lock of a run; the operating system releases it when the process dies.

    Raises:
        InputError: a file of the run is a link.
        RunError: another process holds the lock, or the folder cannot be written.
    """
    check_links(folder)
    lock = FileLock(folder / _LOCK)
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise RunError(f"another process is working on {folder}; wait for it, or name another --out") from error
    except OSError as error:
        raise RunError(f"{folder} cannot be written: {error.strerror or error}") from error
    return lock
