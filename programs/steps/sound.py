"""The step ``sound``: decides whether a question and its answer are right for their fact; only a taught model can."""

from programs.steps.base import Step
from signatures import WeighPair

# Probability from which on a pair is taken. Good and spoilt questions were learned in equal number, so probabilities
# order pairs and are no shares. Chosen on 71 pairs about 16 real articles (docs/experiments/, teaching weights).
SOUND = 0.8

STEP = Step("sound", WeighPair, decides=True, taught=True)
