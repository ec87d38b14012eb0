"""The step ``sound``: decides whether a question and its answer are right for their fact; only a taught model can."""

import math

from programs.steps.base import Step
from signatures.sound import WeighPair

# Probability from which on question and answer are taken of which the judge thinks well. More good questions than bad
# ones were learned from, so probabilities order them and are no shares. Of 59 questions of runs that were not learned
# from, 45 of them good, the judge lets 42 pass, 35 of them good; both together 31, 27 of them good.
SOUND = 0.6
SOUND_ALONE = 0.5  # and from which on a pair that was just written goes to the judge: likelier sound than not
_LEAST = 1e-6

STEP = Step("sound", WeighPair, decides=True, taught=True)


def together(*probabilities: float) -> float:
    """Return the probability of the mean log odds of several."""
    odds = [math.log(each / (1 - each)) for each in (min(max(p, _LEAST), 1 - _LEAST) for p in probabilities)]
    return 1 / (1 + math.exp(-sum(odds) / len(odds)))
