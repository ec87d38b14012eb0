"""Step ``panel``: one of three critics decides whether a question with its answer becomes a sample."""

from collections.abc import Iterable, Mapping
from statistics import fmean

from programs.steps.base import Step
from programs.types import StepRecord
from signatures.panel import ReviewDraft

# The critics of a panel by name, with the viewpoint that the prompt states.
VIEWPOINTS: Mapping[str, str] = {
    "accuracy": "accuracy and completeness: the passage states all that the question takes for granted and all that "
    "the answer says, and the answer is the whole answer to the question",
    "clarity": "clarity and insight: somebody who has never seen the passage understands the question, it asks for one "
    "thing without giving the answer away, and the answer is worth knowing",
    "use": "practical use: somebody who works with such documents would ask this question, and the answer helps them",
}

_STRICT = {
    "approved": "For accuracy, find the words of the passage that say just this, and compare names, numbers and "
    "conditions. For clarity, read the question alone first. For use, ask who would want to know it.",
}

STEP = Step("panel", ReviewDraft, decides=True, gives_reasons=True, strict=_STRICT)


def approval_of(trail: Iterable[StepRecord]) -> list[float]:
    """Return, in a list, the mean probability of the last round in a trail; empty if there was no panel."""
    votes = [record.probability for record in trail if record.step == STEP.name and record.probability is not None]
    return [fmean(votes[-len(VIEWPOINTS) :])] if votes else []
