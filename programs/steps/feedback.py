"""The step ``feedback``: says what must change in a question that the critic refused; it belongs to ``rewrite``."""

from programs.steps.base import Step
from signatures.feedback import DiagnoseQuestion

# What the generator is told of a refusal, by the output of the step `judge` that is to blame.
OBJECTIONS = {
    "independent": "the question cannot be understood alone",
    "clear": "the question is not one clear question",
    "answerable": "the fact does not answer the question",
}

STEP = Step("feedback", DiagnoseQuestion, limits={"max_tokens": 40, "stop": ["\n"], "temperature": 0.0})
