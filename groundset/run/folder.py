"""The folder of a run: its files, and the lock of the one process that works on it."""

from pathlib import Path

from filelock import FileLock, Timeout

from groundset.files import is_leftover, why_not_made
from groundset.programs.errors import InputError, RunError

DATABASE, VECTORS, CORPUS = "run.sqlite", "vectors.npy", "corpus"
RECORD, SAMPLES, REJECTS = "run.json", "samples.jsonl", "rejects.jsonl"
_LOCK = ".lock"
_FILES = (_LOCK, VECTORS, *(DATABASE + suffix for suffix in ("", "-wal", "-shm", "-journal")))


def holds_run(folder: Path) -> bool:
    """Return whether a folder holds a run; a run can be begun where it holds none.

    Raises:
        InputError: it holds other files, is no folder, or cannot be created or written; the message
            names ``--out``.
    """
    reason = (
        "is a file, not a folder"
        if folder.exists() and not folder.is_dir()
        else why_not_made(folder)
    )
    if reason:
        raise InputError(f"--out {folder}: {reason}")
    names = {path.name for path in folder.glob("*") if not is_leftover(path.name)}
    # A process that was killed before it wrote the database has left a corpus, or an empty log.
    if DATABASE not in names and (others := sorted(names - {CORPUS, *_FILES})):
        raise InputError(
            f"--out {folder}: holds other files ({', '.join(others[:3])}) and no run; name a new"
            " folder"
        )
    return DATABASE in names


def check_new(folder: Path) -> None:
    """Check that a folder can become a new run.

    Raises:
        InputError: it holds a run, or see :func:`holds_run`.
    """
    if holds_run(folder):
        raise InputError(f"--out {folder}: holds a run already; name a new folder")


def check_links(folder: Path) -> None:
    """Check that nothing in a run folder leads elsewhere: links in a stranger's folder could
    overwrite any file.

    Raises:
        InputError: a file is a link or a device; the message names it.
        OSError: the folder cannot be read.
    """
    corpus = folder / CORPUS
    for path in (corpus, *corpus.glob("*"), *(folder / name for name in _FILES)):
        if path.is_symlink() or (path.exists() and not (path.is_file() or path == corpus)):
            raise InputError(
                f"{path} is a symbolic link or no regular file; replace it with a copy"
            )


def damaged(path: Path, how: str = "") -> RunError:
    """Return the error for a damaged file of a run; ``how`` says in a few words what is wrong."""
    return RunError(
        f"{path} is damaged{how and f' ({how})'}; keep a copy and begin again in another folder"
    )


def check_run(folder: Path) -> None:
    """Check that a folder has the files of a run.

    Raises:
        InputError: it has not, or one leads elsewhere.
    """
    try:
        if not (folder / DATABASE).is_file():
            reason = (
                f"is not the folder of a run: it has no {DATABASE}"
                if folder.exists()
                else "does not exist"
            )
            raise InputError(f"{folder} {reason}; name a folder made by `groundset generate`")
        check_links(folder)
    except OSError as error:
        raise InputError(f"{folder} cannot be read: {error.strerror}") from error


def locked(folder: Path) -> FileLock:
    """Return the acquired lock of a run; the operating system releases it when the process dies.

    Raises:
        RunError: another process holds the lock, or the folder cannot be written.
    """
    lock = FileLock(folder / _LOCK)
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise RunError(
            f"another process is working on {folder}; wait for it, or name another --out"
        ) from error
    except OSError as error:
        raise RunError(f"{folder} cannot be written: {error.strerror or error}") from error
    return lock
