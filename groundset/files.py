"""Files that appear whole or not at all: every file that groundset leaves behind is written here.

A link that the user names stays, and the file that it points at is replaced. A stream (standard output, a device, a
pipe) cannot be replaced: everything is poured into it once it is complete. Files that belong together are a folder: see
:mod:`groundset.folders`.
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
_STDOUT = 1  # its descriptor
_LONGEST_NAME = 255  # bytes, on all common file systems


@contextmanager
def whole_file(target: Path, *, follow: bool = True) -> Iterator[Path]:
    """Yield a path to write to; what was written becomes ``target``, or goes into the stream, when the block ends well.

    Without ``follow``, whatever stands there is replaced itself, be it a link or a stream: for places that the user did
    not name, in a folder that somebody else may have made.

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
                _pour(aside, target)
        else:
            with _beside(Path(os.path.realpath(target)) if follow else target) as aside:
                yield aside
    except BrokenPipeError:
        raise  # the reader has gone, and wants no more
    except OSError as error:
        raise InputError(f"cannot write {target}: {error.strerror or error}") from error


def check_target(target: Path) -> None:
    """Refuse what can neither be made, nor replaced, nor written into.

    Raises:
        InputError: it is a folder, or nothing that takes text, or it cannot be made.
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
    """Say why no file or folder can be made or replaced at a path, in a few words; None if nothing speaks against it.

    Nothing is written to find out, so a full disk is not noticed.
    """
    path = Path(os.path.realpath(target))
    try:
        there = next(place for place in (path, *path.parents) if place.exists())
        folder = there.parent if there == path and not there.is_dir() else there
        if not folder.is_dir():
            return f"{folder} is a file, not a folder"
        if not os.access(folder, os.W_OK | os.X_OK):
            return f"{folder} cannot be written"
    except OSError as error:
        return error.strerror or str(error)
    if any(len(os.fsencode(name)) > _LONGEST_NAME for name in path.relative_to(there).parts):
        return os.strerror(errno.ENAMETOOLONG)
    return None


def is_stream(target: Path) -> bool:
    """Return whether a path names what is written into and never replaced: standard output, a device, a pipe."""
    if is_standard_output(target):
        return True
    try:
        mode = target.stat().st_mode
    except OSError:
        return False  # there is nothing yet
    return stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)


def is_standard_output(target: Path) -> bool:
    """Return whether a path is ``-``, or what standard output is connected with, such as ``/dev/stdout``."""
    if target == STANDARD_OUTPUT:
        return True
    try:
        return os.path.samestat(target.stat(), os.fstat(_STDOUT))
    except OSError:
        return False  # there is no such file, or standard output is closed


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
    """Write one JSON object in each line; see :func:`whole_file`."""
    with whole_text(target, follow=follow) as stream:
        stream.writelines(json_line(row) for row in rows)


def json_line(row: Mapping[str, Any]) -> str:
    """Return a row as a line of JSON."""
    return json_text(row) + "\n"


def json_text(value: Any, *, indent: int | None = None) -> str:
    """Return a value as JSON that UTF-8 can hold, whatever its texts are."""
    return encodable(json.dumps(value, ensure_ascii=False, indent=indent))


def encodable(text: str) -> str:
    """Return a text whose halves of characters are spelt as JSON spells them: names of files hold some for bytes."""
    return text.encode("utf-8", "backslashreplace").decode()


@contextmanager
def _beside(place: Path) -> Iterator[Path]:
    """Yield a path in the folder of a file, which takes the file's name when the block ends well."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with working_folder(place.parent) as folder:
        aside = folder / "part"
        aside.touch()
        yield aside
        with aside.open("rb") as file:
            os.fsync(file.fileno())
        aside.chmod(0o666 & ~new_file_mask())
        aside.replace(place)


def _pour(aside: Path, target: Path) -> None:
    """Write a complete file into a stream."""
    with aside.open("rb") as source:
        if is_standard_output(target):
            sys.stdout.flush()
            shutil.copyfileobj(source, sys.stdout.buffer)
            sys.stdout.buffer.flush()
        else:
            with target.open("wb") as stream:
                shutil.copyfileobj(source, stream)


def new_file_mask() -> int:
    """Return the mask of new files and folders; a temporary one is private, the result is an ordinary one."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
