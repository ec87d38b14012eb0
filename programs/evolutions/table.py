"""Evolution ``table``: asks for what has to be read off a table."""

import re

from programs.evolutions.base import Evolution
from programs.types import Context

_ROW = re.compile(r"^\s*\|.+\|\s*$", re.MULTILINE)
_FEWEST = 3  # rows: the head, the line under it and one more


def has_table(context: Context) -> bool:
    """Return whether a passage holds a Markdown table."""
    return len(_ROW.findall(context.chunk.text)) >= _FEWEST


EVOLUTION = Evolution(
    "table",
    "Asks for what has to be read off a table.",
    change="Ask for something that has to be read off the table of the passage: a value that two headings lead to, the "
    "largest or smallest of a column, or the difference between two rows. Say what the values are of.",
    found_in=has_table,
)
