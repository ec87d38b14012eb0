"""The step ``combine``: writes questions that only several passages together answer."""

from collections.abc import Sequence

from programs.steps.base import Step
from programs.types import Context
from signatures.combine import CombinePassages

KINDS = ("bridge", "comparison", "general")

STEP = Step("combine", CombinePassages, limits={"max_tokens": 480, "temperature": 0.0})


def numbered(contexts: Sequence[Context]) -> str:
    """Return the passages of contexts as one text, each under its number and its topic."""
    return numbered_texts([(context.topic, context.passage) for context in contexts])


def numbered_texts(passages: Sequence[tuple[str, str]]) -> str:
    """Return topics with passages as one text, each under its number and its topic."""
    return "\n\n".join(f"[{number}] {topic}\n{text}" for number, (topic, text) in enumerate(passages, start=1))
