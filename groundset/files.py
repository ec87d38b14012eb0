"""Files that appear whole or not at all: every file that groundset leaves behind is written here."""

import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from programs.errors import InputError

_SUFFIX = ".groundset-part"


@contextmanager
def whole_file(target: Path) -> Iterator[Path]:
    """Yield a path beside ``target`` to write to; it takes the name of ``target`` when the block ends well.

    Raises:
        InputError: the folder or the file cannot be written; the message names it.
    """
    try:
        if target.is_dir():
            raise InputError(f"cannot write {target}: it is a folder")
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=_SUFFIX)
        os.close(handle)
    except OSError as error:
        raise InputError(f"cannot write {target}: {error.strerror or error}") from error
    aside = Path(name)
    try:
        yield aside
        with aside.open("rb") as file:
            os.fsync(file.fileno())
        aside.chmod(0o666 & ~_umask())
        aside.replace(target)
    except OSError as error:
        raise InputError(f"cannot write {target}: {error.strerror or error}") from error
    finally:
        aside.unlink(missing_ok=True)


@contextmanager
def whole_text(target: Path) -> Iterator[TextIO]:
    """Yield a stream of UTF-8 text with ``\\n`` line ends; see :func:`whole_file`."""
    with whole_file(target) as aside, aside.open("w", encoding="utf-8", newline="\n") as stream:
        yield stream


def write_text(target: Path, text: str) -> None:
    """Write a text; see :func:`whole_file`."""
    with whole_text(target) as stream:
        stream.write(text)


def write_rows(target: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write one JSON object in each line; see :func:`whole_file`."""
    with whole_text(target) as stream:
        stream.writelines(json_line(row) for row in rows)


def json_line(row: Mapping[str, Any]) -> str:
    """Return a row as a line of JSON."""
    return json.dumps(row, ensure_ascii=False) + "\n"


def is_leftover(name: str) -> bool:
    """Say whether a file of this name is what a killed process left behind, or lies beside such a one."""
    return name.startswith(".") and _SUFFIX in name


def remove_leftovers(folder: Path) -> None:
    """Remove what killed processes left behind in a folder; nobody else may be writing there."""
    for path in folder.iterdir():
        if is_leftover(path.name):
            path.unlink(missing_ok=True)


def _umask() -> int:
    """Return the mask of new files; a temporary file is private, the result is an ordinary one."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
