"""Reading untrusted files safely: line by line, with limits on the length of lines and texts.

What cannot be read raises ``InputError``, or the kind of it that the caller names.
"""

import json
import stat
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from groundset.programs.errors import InputError

if TYPE_CHECKING:
    from pydantic import ValidationError

MAX_TEXT = 1_000_000  # characters of a question, an answer, a passage or metadata: a long book
MAX_NAME = 10_000  # characters of an id, a path or a title; the longest paths have 4,096
# Bytes of a row: several of the longest texts, or a thousand passages. Parsed, it takes up to 25
# times as much memory.
MAX_ROW = 8 << 20
_BOM = b"\xef\xbb\xbf"
# Pipes that the shell opened for this process.
_PIPES = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")


# The messages of pydantic that are not plain.
_FAULTS = {
    "extra_forbidden": "unknown key",
    "missing": "missing",
    "too_short": "must not be empty",
    "model_type": "must be an object, in braces",
}
Kind = type[InputError]


@contextmanager
def opened(file: Path, kind: Kind = InputError) -> Iterator[BinaryIO]:
    """Open a regular file, or a pipe from the shell, for reading.

    Raises:
        InputError: it cannot be read, or is a device or a named pipe, which may be endless.
    """
    try:
        mode = file.stat().st_mode
        is_pipe = stat.S_ISFIFO(mode) and str(file).startswith(_PIPES)
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or is_pipe):
            raise kind(f"{file} is a pipe or a device; name a regular file")
        with file.open("rb") as stream:
            yield stream
    except OSError as error:
        raise kind(f"{file}: {error.strerror or error}") from error


def numbered_lines(file: Path, kind: Kind = InputError) -> Iterator[tuple[int, bytes]]:
    r"""Yield the numbered lines of a file, from 1, without ``\n`` and byte-order mark.

    Raises:
        InputError: a line has more than ``MAX_ROW`` bytes; or see :func:`opened`.
    """
    with opened(file, kind) as stream:
        for number in count(1):
            line = stream.readline(MAX_ROW + 1)
            if not line:
                return
            if len(line) > MAX_ROW:
                raise kind(f"{file}, line {number}: longer than {MAX_ROW >> 20} MB")
            yield number, line.removeprefix(_BOM if number == 1 else b"").removesuffix(b"\n")


def small_text(file: Path, most: int, kind: Kind = InputError) -> str:
    """Return the text of a file of at most ``most`` bytes.

    Raises:
        InputError: it is larger, or not UTF-8; or see :func:`opened`.
    """
    with opened(file, kind) as stream:
        data = stream.read(most + 1)
    if len(data) > most:
        raise kind(f"{file}: longer than {most >> 20} MB")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise kind(f"{file}: not UTF-8 text") from error


def json_of(where: object, text: str | bytes, kind: Kind = InputError) -> Any:
    """Return the value that a text is as JSON.

    Raises:
        InputError: it is none; the message begins with ``where``.
    """
    try:
        given = text if isinstance(text, str) else text.decode()
        value = json.loads(given, parse_constant=_no_number, object_pairs_hook=_object)
        json.dumps(value, ensure_ascii=False).encode()  # fails for lone surrogates such as "\ud800"
    except UnicodeDecodeError as error:
        raise kind(f"{where}: not UTF-8 text") from error
    except UnicodeError as error:
        raise kind(f"{where}: not valid Unicode text") from error
    except RecursionError as error:
        raise kind(f"{where}: nested too deep") from error
    except ValueError as error:
        raise kind(f"{where}: not JSON ({error})") from error
    return value


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number; write null, or leave it out")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(found := dict(pairs)) < len(pairs):
        raise ValueError(
            f"the key {Counter(key for key, _ in pairs).most_common(1)[0][0]} stands twice"
        )
    return found


def first_fault(error: "ValidationError") -> str:
    """Return the first thing that is wrong with a value, behind its key."""
    first = error.errors(include_url=False)[0]
    key = ".".join(str(part) for part in first["loc"] if part != "[key]")
    told = _FAULTS.get(first["type"], first["msg"].removeprefix("Value error, "))
    return ": ".join(filter(None, (key, f"{told[:1].lower()}{told[1:]}")))
