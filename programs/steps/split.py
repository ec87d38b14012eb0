"""The step ``split``: makes questions that each ask one thing of one that asks two."""

from programs.steps.base import Step
from signatures import SplitQuestion

STEP = Step("split", SplitQuestion, limits={"max_tokens": 96, "stop": ["\n\n"], "temperature": 0.0})
