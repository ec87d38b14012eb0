"""The step ``sound``: decides whether a question and its answer are right for their fact; only a taught model can."""

from programs.steps.base import Step
from signatures import WeighPair

STEP = Step("sound", WeighPair, decides=True, taught=True)
