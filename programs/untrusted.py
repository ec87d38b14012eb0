"""Reading untrusted files safely: line by line, with limits on the length of lines and texts."""

import stat
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import BinaryIO

from programs.errors import InputError

MAX_TEXT = 1_000_000  # characters of a question, an answer, a passage or metadata: a long book
MAX_NAME = 10_000  # characters of an id, a path or a title; the longest paths have 4,096
# Bytes of a row: several of the longest texts, or a thousand passages. Parsed, it takes up to 25 times as much memory.
MAX_ROW = 8 << 20
_BOM = b"\xef\xbb\xbf"
_PIPES = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")  # pipes that the shell opened for this process


@contextmanager
def opened(file: Path) -> Iterator[BinaryIO]:
    """Open a regular file, or a pipe from the shell, for reading.

    Raises:
        InputError: it is a device or a named pipe, which may be endless.
        OSError: it cannot be read.
    """
    mode = file.stat().st_mode
    is_pipe = stat.S_ISFIFO(mode) and str(file).startswith(_PIPES)
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or is_pipe):
        raise InputError(f"{file} is a pipe or a device; name a regular file")
    with file.open("rb") as stream:
        yield stream


def numbered_lines(file: Path) -> Iterator[tuple[int, bytes]]:
    r"""Yield the numbered lines of a file, from 1, without ``\n`` and byte-order mark.

    Raises:
        InputError: a line has more than ``MAX_ROW`` bytes; or see :func:`opened`.
        OSError: it cannot be read.
    """
    with opened(file) as stream:
        for number in count(1):
            line = stream.readline(MAX_ROW + 1)
            if not line:
                return
            if len(line) > MAX_ROW:
                raise InputError(f"{file}, line {number}: longer than {MAX_ROW >> 20} MB")
            yield number, line.removeprefix(_BOM if number == 1 else b"").removesuffix(b"\n")


def small_text(file: Path, most: int) -> str:
    """Return the text of a file of at most ``most`` bytes.

    Raises:
        InputError: it is larger, or not UTF-8; or see :func:`opened`.
        OSError: it cannot be read.
    """
    with opened(file) as stream:
        data = stream.read(most + 1)
    if len(data) > most:
        raise InputError(f"{file}: longer than {most >> 20} MB")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{file}: not UTF-8 text") from error
