"""Step ``reasoning``: names the kind of thing that a name stands for, to replace the name by a description."""

from programs.steps.base import Step
from signatures.reasoning import NameKind

STEP = Step("reasoning", NameKind, limits={"max_tokens": 8, "stop": ["\n"], "temperature": 0.0})
