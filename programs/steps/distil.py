"""Step ``distil``: chooses the passages that a question needs together."""

import re

from programs.steps.base import Step
from signatures.distil import DistilPassages

STEP = Step("distil", DistilPassages, limits={"max_tokens": 100, "temperature": 0.0})

_NOTHING = re.compile(r"\W*(?:nothing|none)\b.{0,20}", re.IGNORECASE | re.DOTALL)
_NUMBER = re.compile(r"(?<![\w.])\d{1,3}(?!\w|\.\d)")


def needed_of(text: str, count: int) -> list[int]:
    """Return the distinct numbers from 1 to ``count`` in a completion, in order."""
    return sorted({number for found in _NUMBER.findall(text) if 1 <= (number := int(found)) <= count})


def missing_of(text: str) -> str:
    """Return what the passages do not say; empty if it is nothing."""
    missing = " ".join(text.split()).strip(" .")
    return "" if _NOTHING.fullmatch(missing) else missing
