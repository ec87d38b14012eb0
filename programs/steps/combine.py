"""The step ``combine``: writes questions that only several passages together answer."""

from collections.abc import Sequence

from programs.steps.base import Step
from programs.types import Context
from signatures import CombinePassages

KINDS = ("bridge", "comparison", "general")

STEP = Step("combine", CombinePassages, limits={"max_tokens": 480, "temperature": 0.0})


def numbered(contexts: Sequence[Context]) -> str:
    """Return passages as one text, each under its number and its topic."""
    return "\n\n".join(
        f"[{number}] {context.topic}\n{context.passage}" for number, context in enumerate(contexts, start=1)
    )
