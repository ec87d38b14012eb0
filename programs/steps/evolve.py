"""Step ``evolve``: changes a question as an evolution says."""

from programs.steps.base import Step
from signatures.evolve import EvolveQuestion

STEP = Step("evolve", EvolveQuestion, limits={"max_tokens": 240, "temperature": 0.0})
