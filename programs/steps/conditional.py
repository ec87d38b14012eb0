"""Step ``conditional``: adds a condition from the passage to a question."""

from programs.steps.base import Step
from programs.steps.question import LIMITS
from signatures.conditional import ConditionQuestion

STEP = Step("conditional", ConditionQuestion, limits=LIMITS)
