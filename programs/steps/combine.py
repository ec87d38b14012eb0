"""Step ``combine``: writes questions that need several passages."""

from collections.abc import Sequence

from programs.steps.base import Step
from programs.types import Context
from signatures.combine import CombinePassages

KINDS = ("bridge", "comparison", "general")

STEP = Step("combine", CombinePassages, limits={"max_tokens": 480, "temperature": 0.0})


def numbered(contexts: Sequence[Context]) -> str:
    """Return the passages of contexts as one text, each with its number and topic."""
    return numbered_texts([(context.topic, context.passage) for context in contexts])


def numbered_texts(passages: Sequence[tuple[str, str]]) -> str:
    """Return (topic, passage) pairs as one text, each with its number."""
    return "\n\n".join(f"[{number}] {topic}\n{text}" for number, (topic, text) in enumerate(passages, start=1))
