"""Step ``unanswerable``: asks for something that a passage leaves open."""

from programs.steps.base import Step
from signatures.unanswerable import AskUnanswerable

STEP = Step("unanswerable", AskUnanswerable, limits={"max_tokens": 120, "temperature": 0.0})
