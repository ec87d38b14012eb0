"""Atomic writing: a killed process leaves neither half a file nor a folder with files of two
versions.

Unfinished output lies in a hidden folder beside its target. Its owner holds a lock in it, so that
other processes can tell a folder in use from a leftover. If a target is a symbolic link, the file
that it points to is replaced. Standard output gets the complete content at once.
"""

import errno
import hashlib
import json
import os
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO

from filelock import FileLock, Timeout

from groundset.programs.errors import InputError

_DATA = Path(__file__).parent / "data"
_SUFFIX, _LOCK = ".groundset-part", "owner.lock"
_LOCK_TIMEOUT_SECONDS = (
    1.0  # another process may hold the lock briefly to see whether the owner lives
)
_TRIES = 10
_BUSY = "another process is writing it; wait until it has ended, or choose another folder"


def data_path(*parts: str) -> Path:
    """Return the path of a file or folder in `data/` of the package."""
    return _DATA.joinpath(*parts)


@contextmanager
def whole_file(target: Path, *, follow: bool = True) -> Iterator[Path]:
    """Yield a temporary path, and move it to ``target`` when the block succeeds.

    Without ``follow``, a link or device at ``target`` is itself replaced: for paths that the user
    did not choose, in folders that may be untrusted.

    Raises:
        InputError: the folder or the file cannot be written; the message names it.
    """
    if follow:
        check_target(target)
    with _naming(target):
        if follow and is_stream(target):
            with tempfile.TemporaryDirectory(prefix="groundset-") as folder:
                aside = Path(folder, "part")
                yield aside
                sys.stdout.flush()
                sys.stdout.buffer.write(aside.read_bytes())
                sys.stdout.flush()
            return
        real = Path(os.path.realpath(target)) if follow else target
        real.parent.mkdir(parents=True, exist_ok=True)
        with working_folder(real.parent) as working:
            aside = working / "part"
            aside.touch()
            yield aside
            _sync(aside)
            aside.replace(real)


@contextmanager
def whole_text(target: Path, *, follow: bool = True) -> Iterator[TextIO]:
    r"""Yield a stream of UTF-8 text with ``\n`` line ends; see :func:`whole_file`."""
    with (
        whole_file(target, follow=follow) as aside,
        aside.open("w", encoding="utf-8", newline="\n") as stream,
    ):
        yield stream


def write_text(target: Path, text: str, *, follow: bool = True) -> None:
    """Write a text; see :func:`whole_file`."""
    with whole_text(target, follow=follow) as stream:
        stream.write(text)


def write_rows(target: Path, rows: Iterable[Mapping[str, Any]], *, follow: bool = True) -> None:
    """Write one JSON object per line; see :func:`whole_file`."""
    with whole_text(target, follow=follow) as stream:
        stream.writelines(json_line(row) for row in rows)


def json_line(row: Mapping[str, Any]) -> str:
    """Return a row as a line of JSON."""
    return json_text(row) + "\n"


def json_text(value: Any, *, indent: int | None = None) -> str:
    """Return a value as JSON that can be encoded as UTF-8."""
    return encodable(json.dumps(value, ensure_ascii=False, indent=indent))


def encodable(text: str) -> str:
    """Escape lone surrogates as in JSON; file names hold them in place of invalid bytes."""
    return text.encode("utf-8", "backslashreplace").decode()


def check_target(target: Path) -> None:
    """Check that a file can be written.

    Raises:
        InputError: it is a folder or a special file, or cannot be created.
    """
    if is_stream(target):
        return
    reason = why_not_made(target)
    with _naming(target), suppress(FileNotFoundError):
        if not (reason or stat.S_ISREG(target.stat().st_mode)):
            reason = "it is a folder" if target.is_dir() else "it is no file; - is standard output"
    if reason:
        raise InputError(f"cannot write {target}: {reason}")


def why_not_made(target: Path) -> str | None:
    """Return why no file or folder can be created or replaced at a path, or None; a full disk is
    not detected.
    """
    path = Path(os.path.realpath(target))
    try:
        existing = next(parent for parent in (path, *path.parents) if parent.exists())
        folder = existing.parent if existing == path and not existing.is_dir() else existing
        if not folder.is_dir():
            return f"{folder} is a file, not a folder"
        with working_folder(folder):  # in /proc no file can be created, whatever os.access says
            return None
    except OSError as error:
        return error.strerror or str(error)


def is_stream(target: Path) -> bool:
    """Return whether a path is ``-``, standard output."""
    return target == Path("-")


@contextmanager
def whole_folder(target: Path, *, last: str = "") -> Iterator[Path]:
    """Yield a temporary folder whose content becomes that of ``target``, a new or an empty folder,
    when the block succeeds.

    No other process can write the same target meanwhile. The file named ``last`` is moved last.

    Raises:
        InputError: the target cannot be written, holds files, or another process is writing it; the
            message names it.
    """
    target = target.resolve()
    with _naming(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        with working_folder(target if target.is_dir() else target.parent, target.name) as working:
            aside = working / "part"
            aside.mkdir()
            yield aside
            for path in (aside, *aside.rglob("*")):
                _sync(path)
            if not target.exists():
                aside.rename(target)
                return
            for path in sorted(aside.iterdir(), key=lambda path: path.name == last):
                path.replace(target / path.name)


def check_folder(folder: Path) -> None:
    """Check that a folder can be created or written, before any work is done.

    Raises:
        InputError: it is a file, or cannot be created or written.
    """
    if reason := "it is a file, not a folder" if folder.is_file() else why_not_made(folder):
        raise InputError(f"cannot write to {folder}: {reason}")


def check_empty(folder: Path) -> None:
    """Check that a folder is empty or can be created.

    Raises:
        InputError: it holds files, or see :func:`check_folder`; the message names a file.
    """
    check_folder(folder)
    held = sorted(path.name for path in folder.glob("*") if not is_leftover(path.name))
    if held:
        raise InputError(f"{folder} holds files ({held[0]}); name an empty or a new folder")


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@contextmanager
def _naming(target: Path) -> Iterator[None]:
    """Turn an ``OSError`` into an error that names the file or folder."""
    try:
        yield
    except BrokenPipeError:
        raise  # the reader has closed the pipe
    except OSError as error:
        raise InputError(f"cannot write {target}: {error.strerror or error}") from error


def _sync(path: Path) -> None:
    """Sync a file to disk, and give a file or folder the usual permissions: those of temporary
    files are private.
    """
    if path.is_file():
        with path.open("rb") as stream:
            os.fsync(stream.fileno())
    mask = os.umask(0)
    os.umask(mask)
    path.chmod((0o777 if path.is_dir() else 0o666) & ~mask)


@contextmanager
def working_folder(place: Path, target: str | None = None) -> Iterator[Path]:
    """Yield a private folder inside ``place``, and remove it afterwards; leftovers of dead
    processes go first.

    ``target`` is a name that only one process can work on at a time.

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
    return name.startswith(".") and name.endswith(_SUFFIX)


def remove_leftovers(folder: Path) -> None:
    """Remove the unfinished output of dead processes from a folder, ignoring errors."""
    with suppress(OSError):
        for path in [
            path for path in folder.iterdir() if is_leftover(path.name) and not path.is_symlink()
        ]:
            # In use (Timeout is an OSError), or owned by another user.
            with suppress(OSError), FileLock(path / _LOCK).acquire(timeout=0):
                shutil.rmtree(path, ignore_errors=True)


def _owned_folder(place: Path, target: str | None) -> tuple[Path, FileLock]:
    # Hashed, because the name of the target may have the maximum length.
    name = (
        secrets.token_hex(8)
        if target is None
        else hashlib.sha256(os.fsencode(target)).hexdigest()[:16]
    )
    folder = place / f".{name}{_SUFFIX}"
    for _ in range(_TRIES):
        folder.mkdir(mode=0o700, exist_ok=True)
        lock = FileLock(folder / _LOCK)
        # Before it is locked, another process may remove the folder as a leftover. Locking then
        # creates it again with the usual permissions, or fails.
        with suppress(FileNotFoundError):
            try:
                lock.acquire(timeout=_LOCK_TIMEOUT_SECONDS)
            except Timeout as error:
                raise OSError(errno.EBUSY, _BUSY) from error
            folder.chmod(0o700)
            return folder, lock
    raise OSError(errno.EBUSY, _BUSY)
