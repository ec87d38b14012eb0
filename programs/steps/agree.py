"""The step ``agree``: decides whether two answers to a question say the same."""

from programs.steps.base import Step
from signatures import CompareAnswers

STEP = Step("agree", CompareAnswers, decides=True)
