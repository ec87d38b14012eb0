"""Print JSON, tables and lines.

Tables are ruled on a terminal and aligned plain text elsewhere. If a table does not fit, each row is printed as a
block. Text for a file or a pipe is wrapped only if ``COLUMNS`` is set.
"""

import json
import os
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from groundset.printing import printable, say, say_lines

_WIDE = 10_000  # columns; measuring a table at a smaller width would break words


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows under headings."""
    cells = [list(headings), *([printable(cell) for cell in row] for row in rows)]
    console = Console()
    limit = _limit(console)
    if console.is_terminal:
        table = Table(*headings)
        for row in cells[1:]:
            table.add_row(*map(Text, row))
        if console.measure(table, options=console.options.update(max_width=_WIDE)).minimum <= console.width:
            console.print(table)
            return
    widths = [max(len(row[column]) for row in cells) for column in range(len(headings))]
    if limit is not None and sum(widths) + 2 * (len(widths) - 1) > limit:
        _print_blocks(console, cells)
        return
    for row in cells:
        say("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def print_line(text: str) -> None:
    """Print a line of text, wrapped to the width of the output."""
    limit = _limit(Console())
    text = printable(text)
    say_lines(text if limit is None else textwrap.fill(text, limit, break_long_words=False, break_on_hyphens=False))


def print_json(document: Mapping[str, Any]) -> None:
    """Print one JSON document."""
    say_lines(json.dumps(document, ensure_ascii=False, indent=2))


def _limit(console: Console) -> int | None:
    """Return the width of the output in columns, None if it is unknown."""
    return console.width if console.is_terminal or os.environ.get("COLUMNS", "").isdecimal() else None


def _print_blocks(console: Console, cells: Sequence[Sequence[str]]) -> None:
    headings, *rows = cells
    for number, row in enumerate(rows):
        if number:
            console.print()
        block = Table.grid(padding=(0, 2))
        block.add_column(no_wrap=True)
        block.add_column(overflow="fold")
        for heading, cell in zip(headings, row, strict=True):
            block.add_row(heading, Text(cell))
        console.print(block)
