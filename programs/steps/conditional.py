"""The step ``conditional``: puts a question under a condition that its passage states."""

from programs.steps.base import Step
from programs.steps.question import LIMITS
from signatures.conditional import ConditionQuestion

STEP = Step("conditional", ConditionQuestion, limits=LIMITS)
