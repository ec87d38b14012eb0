"""Evolution ``formula``: asks about a formula and what its parts stand for."""

import re

from programs.evolutions.base import Evolution
from programs.types import Context

_FORMULA = re.compile(
    r"\$[^$\n]{3,}\$|\\[(\[]|\\(?:frac|sum|int|sqrt|cdot|times)\b|\b\w+ ?= ?[\w(][^=\n]{0,60}[+*/^×·−]"
)


def has_formula(context: Context) -> bool:
    """Return whether a passage contains a formula."""
    return bool(_FORMULA.search(context.chunk.text))


EVOLUTION = Evolution(
    "formula",
    "Asks about a formula and what its parts stand for.",
    change="Ask about the formula of the passage: what it gives, what one of its parts stands for, how the result "
    "changes with a part, or the result for values that the question gives.",
    applies_to=has_formula,
)
