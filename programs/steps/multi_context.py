"""Step ``multi_context``: asks a question that compares facts of several chunks."""

from programs.steps.base import Step
from signatures.multi_context import ComposeQuestion

STEP = Step("multi_context", ComposeQuestion, limits={"max_tokens": 64, "stop": ["\n"], "temperature": 0.0})
