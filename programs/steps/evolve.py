"""The step ``evolve``: changes a question in one way, such as putting it under a condition."""

from programs.steps.base import Step
from signatures.evolve import EvolveQuestion

STEP = Step("evolve", EvolveQuestion, limits={"max_tokens": 240, "temperature": 0.0})
