"""Step ``keyphrases``: copies phrases from a passage that can be asked about."""

from programs.steps.base import Step
from signatures.keyphrases import ExtractKeyphrases

STEP = Step("keyphrases", ExtractKeyphrases, limits={"max_tokens": 56, "stop": ["\n\n"], "temperature": 0.0})
