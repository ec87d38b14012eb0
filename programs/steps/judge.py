"""The step ``judge``: decides whether a question is fit for an evaluation set."""

from programs.steps.base import Step
from signatures import JudgeQuestion

STEP = Step("judge", JudgeQuestion, decides=True)
