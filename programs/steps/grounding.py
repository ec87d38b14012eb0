"""The step ``grounding``: decides whether the passage supports an answer."""

from programs.steps.base import Step
from signatures import GroundAnswer

STEP = Step("grounding", GroundAnswer, decides=True)
