"""Evolution ``table``: asks for something that a table shows."""

import re

from programs.evolutions.base import Evolution
from programs.types import Context

_ROW = re.compile(r"^\s*\|.+\|\s*$", re.MULTILINE)
_MIN_ROWS = 3  # the header, the delimiter row and one more


def has_table(context: Context) -> bool:
    """Return whether a passage contains a Markdown table."""
    return len(_ROW.findall(context.chunk.text)) >= _MIN_ROWS


EVOLUTION = Evolution(
    "table",
    "Asks for something that a table shows.",
    change="Ask for something that has to be read off the table of the passage: a value that two headings lead to, the "
    "largest or smallest of a column, or the difference between two rows. Say what the values are of.",
    applies_to=has_table,
)
