"""Tables: ruled on a terminal, aligned plain text elsewhere."""

from collections.abc import Sequence

import typer
from rich.console import Console
from rich.table import Table


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows under their headings."""
    console = Console()
    if console.is_terminal:
        table = Table(*headings)
        for row in rows:
            table.add_row(*row)
        console.print(table)
        return
    widths = [max(len(row[column]) for row in (headings, *rows)) for column in range(len(headings))]
    for row in (headings, *rows):
        typer.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
