"""The step ``chunk``: decides whether a chunk is fit to ask questions about."""

from programs.steps.base import Step
from signatures import ScoreChunk

STEP = Step("chunk", ScoreChunk, decides=True)
