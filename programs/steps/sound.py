"""Step ``sound``: a fine-tuned model decides whether a question and its answer are right for their fact."""

import math

from programs.steps.base import Step
from signatures.sound import WeighPair

# Threshold on the combined score of sound and judge. The scores are not calibrated, because most training questions
# were good. Of 59 held-out questions (45 good), the judge alone accepts 42 (35 good), both together 31 (27 good).
THRESHOLD = 0.6
NEW_PAIR_THRESHOLD = 0.5  # threshold for a new pair before judging
_MIN = 1e-6

STEP = Step("sound", WeighPair, decides=True, finetuned=True)


def combine(*probabilities: float) -> float:
    """Return the probability at the mean of the log-odds."""
    odds = [math.log(p / (1 - p)) for p in (min(max(p, _MIN), 1 - _MIN) for p in probabilities)]
    return 1 / (1 + math.exp(-sum(odds) / len(odds)))
