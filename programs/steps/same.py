"""The step ``same``: decides whether an evolution changed nothing."""

from programs.steps.base import Step
from signatures import CompareQuestions

STEP = Step("same", CompareQuestions, decides=True)
