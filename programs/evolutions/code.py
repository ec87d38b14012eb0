"""Evolution ``code``: asks what code does, or how to do something with it."""

import re

from programs.evolutions.base import Evolution
from programs.types import Context

_BLOCK = re.compile(r"^(?:```|~~~)|(?:^ {4}\S.*\n){2}", re.MULTILINE)


def has_code(context: Context) -> bool:
    """Return whether a passage contains a code block."""
    return bool(_BLOCK.search(context.chunk.text))


EVOLUTION = Evolution(
    "code",
    "Asks what code does, or how to do something with it.",
    change="Ask about the code of the passage: what it does, which call, option or value does a certain thing, or what "
    "has to be written to reach something. Name the tool or library that it belongs to.",
    applies_to=has_code,
)
