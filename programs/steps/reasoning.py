"""The step ``reasoning``: says what kind of thing a name names, so that a description can take its place."""

from programs.steps.base import Step
from signatures.reasoning import NameKind

STEP = Step("reasoning", NameKind, limits={"max_tokens": 8, "stop": ["\n"], "temperature": 0.0})
