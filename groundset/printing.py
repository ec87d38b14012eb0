"""Safe printing: texts from files and models cannot control the terminal or forge lines."""

import json
import os
import re
import shutil
import sys
from collections.abc import Sequence

import typer
from rich.console import Console

# Control, bidirectional, zero-width and tag characters, and surrogates. The two joiners and the soft hyphen stay: words
# of several scripts, and emoji, need them.
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
_UNSEEN_IN_LINES = re.compile(f"(?![\n\t]){_UNSEEN.pattern}")


def printable(text: str, *, lines: bool = False) -> str:
    """Escape invisible characters as in JSON, such as ``\\u001b`` and ``\\n``, so that JSON keeps its meaning.

    With ``lines``, line ends and tabs stay.
    """
    if lines:
        return _UNSEEN_IN_LINES.sub(_escaped, text.replace("\r\n", "\n"))
    return _UNSEEN.sub(_escaped, text)


def say(line: str = "", *, err: bool = False) -> None:
    """Print one line on standard output, or on standard error with ``err``."""
    typer.echo(printable(line), err=err)


def say_lines(text: str, *, err: bool = False) -> None:
    """Print a block of text with its line ends."""
    typer.echo(printable(text, lines=True), err=err)


def print_above(console: Console, line: str) -> None:
    """Print one line above the live display of a console."""
    console.print(printable(line), markup=False, emoji=False, highlight=False, soft_wrap=True)


def say_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows under headings, aligned; on a terminal that is too narrow, each row as a block."""
    cells = [list(headings), *([printable(cell) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(headings))]
    limit = shutil.get_terminal_size().columns if sys.stdout.isatty() or os.environ.get("COLUMNS") else None
    if limit is None or sum(widths) + 2 * (len(widths) - 1) <= limit:
        for row in cells:
            say("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
        return
    first = max(map(len, headings))
    for number, row in enumerate(cells[1:]):
        if number:
            say()
        for heading, cell in zip(headings, row, strict=True):
            say(f"{heading.ljust(first)}  {cell}")


def _escaped(found: re.Match[str]) -> str:
    return json.dumps(found[0])[1:-1]
