"""Untrusted files: opened safely and read line by line, with limits on their lines and texts.

At most one line is in memory at a time.
"""

import stat
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import BinaryIO

from programs.errors import InputError

# Characters of a question, an answer, a passage or metadata: those of a long book, and a hundred times those of what a
# search is worth doing over.
MAX_TEXT = 1_000_000
# Characters of an id, a path or a title: the longest path that systems know has 4,096.
MAX_NAME = 10_000
# Bytes of a row: several of the longest texts, or a thousand passages. Its objects take up to 25 times as much memory.
MAX_ROW = 8 << 20
_BOM = b"\xef\xbb\xbf"
_PIPES = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")  # what a shell has opened for this process


@contextmanager
def opened(file: Path) -> Iterator[BinaryIO]:
    """Open a file to be read: a regular one, or a pipe that the shell has connected with this process.

    Raises:
        InputError: it is something else, such as a device or a named pipe, which may have no end.
        OSError: it cannot be read.
    """
    mode = file.stat().st_mode
    is_pipe = stat.S_ISFIFO(mode) and str(file).startswith(_PIPES)
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or is_pipe):
        raise InputError(f"{file} is a pipe or a device; name a regular file")
    with file.open("rb") as stream:
        yield stream


def numbered_lines(file: Path) -> Iterator[tuple[int, bytes]]:
    r"""Yield the lines of a file with their numbers from 1, without ``\n`` and a byte-order mark.

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
                raise InputError(f"{file}, line {number}: longer than {format_size(MAX_ROW)}")
            yield number, line.removeprefix(_BOM if number == 1 else b"").removesuffix(b"\n")


def small_text(file: Path, most: int) -> str:
    """Return the text of a file of at most this many bytes.

    Raises:
        InputError: it has more, or is not UTF-8; or see :func:`opened`.
        OSError: it cannot be read.
    """
    with opened(file) as stream:
        data = stream.read(most + 1)
    if len(data) > most:
        raise InputError(f"{file}: longer than {format_size(most)}")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{file} is not UTF-8 text") from error


def format_size(size: int) -> str:
    """Return a number of bytes as text, such as ``8 MB``."""
    return f"{size >> 20} MB"
