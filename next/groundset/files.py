"""Atomic writing of files; all output files are written with this module.

If the target is a symbolic link, the file it points to is replaced. A stream (standard output, a device, a pipe) gets
the complete content at once. See :mod:`groundset.folders` for several files.
"""

import errno
import json
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from groundset.working_folders import working_folder
from programs.errors import InputError

STANDARD_OUTPUT = Path("-")
_STDOUT = 1  # file descriptor
_MAX_NAME_BYTES = 255  # on all common file systems


@contextmanager
def whole_file(target: Path, *, follow: bool = True) -> Iterator[Path]:
    """Yield a temporary path, and move it to ``target`` when the block succeeds.

    Without ``follow``, a link or device at ``target`` is itself replaced: for paths that the user did not choose, in
    folders that may be untrusted.

    Raises:
        InputError: the folder or the file cannot be written; the message names it.
    """
    if follow:
        check_target(target)
    try:
        if follow and is_stream(target):
            with tempfile.TemporaryDirectory(prefix="groundset-") as folder:
                aside = Path(folder, "part")
                yield aside
                _copy_to_stream(aside, target)
        else:
            with _beside(Path(os.path.realpath(target)) if follow else target) as aside:
                yield aside
    except BrokenPipeError:
        raise  # the reader has closed the pipe
    except OSError as error:
        raise InputError(f"cannot write {target}: {error.strerror or error}") from error


def check_target(target: Path) -> None:
    """Check that a file can be written.

    Raises:
        InputError: it is a folder or a special file, or cannot be created.
    """
    if is_stream(target):
        return
    if reason := why_not_made(target):
        raise InputError(f"cannot write {target}: {reason}")
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        raise InputError(f"cannot write {target}: {error.strerror or error}") from error
    if stat.S_ISDIR(mode):
        raise InputError(f"cannot write {target}: it is a folder")
    if not stat.S_ISREG(mode):
        raise InputError(f"cannot write {target}: it is neither a file nor a stream")


def why_not_made(target: Path) -> str | None:
    """Return why no file or folder can be created or replaced at a path, or None; a full disk is not detected."""
    path = Path(os.path.realpath(target))
    try:
        existing = next(parent for parent in (path, *path.parents) if parent.exists())
        folder = existing.parent if existing == path and not existing.is_dir() else existing
        if not folder.is_dir():
            return f"{folder} is a file, not a folder"
        if not os.access(folder, os.W_OK | os.X_OK) or not _is_writable(folder):
            return f"{folder} cannot be written"
    except OSError as error:
        return error.strerror or str(error)
    if any(len(os.fsencode(name)) > _MAX_NAME_BYTES for name in path.relative_to(existing).parts):
        return os.strerror(errno.ENAMETOOLONG)
    return None


def _is_writable(folder: Path) -> bool:
    """Return whether files can be created in a folder; in /proc they cannot, whatever ``os.access`` says."""
    try:
        with working_folder(folder):
            return True
    except OSError:
        return False


def is_stream(target: Path) -> bool:
    """Return whether a path is standard output, a device or a pipe."""
    if is_standard_output(target):
        return True
    try:
        mode = target.stat().st_mode
    except OSError:
        return False  # does not exist
    return stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)


def is_standard_output(target: Path) -> bool:
    """Return whether a path is ``-``, or the file of standard output, such as ``/dev/stdout``."""
    if target == STANDARD_OUTPUT:
        return True
    try:
        return os.path.samestat(target.stat(), os.fstat(_STDOUT))
    except OSError:
        return False  # the file does not exist, or standard output is closed


@contextmanager
def whole_text(target: Path, *, follow: bool = True) -> Iterator[TextIO]:
    """Yield a stream of UTF-8 text with ``\\n`` line ends; see :func:`whole_file`."""
    with whole_file(target, follow=follow) as aside, aside.open("w", encoding="utf-8", newline="\n") as stream:
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


@contextmanager
def _beside(target: Path) -> Iterator[Path]:
    """Yield a temporary path on the same file system, and move it to ``target`` when the block succeeds."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with working_folder(target.parent) as folder:
        aside = folder / "part"
        aside.touch()
        yield aside
        with aside.open("rb") as file:
            os.fsync(file.fileno())
        aside.chmod(0o666 & ~new_file_mask())
        aside.replace(target)


def _copy_to_stream(aside: Path, target: Path) -> None:
    with aside.open("rb") as source:
        if is_standard_output(target):
            sys.stdout.flush()
            shutil.copyfileobj(source, sys.stdout.buffer)
            sys.stdout.buffer.flush()
        else:
            with target.open("wb") as stream:
                shutil.copyfileobj(source, stream)


def new_file_mask() -> int:
    """Return the umask, for results of private temporary files."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
