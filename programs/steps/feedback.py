"""Step ``feedback``: says what must change in a question that the critic refused, for the step ``rewrite``."""

from programs.steps.base import Step
from signatures.feedback import DiagnoseQuestion

# The reason for a refusal in the prompt, by the output of the step `judge` that caused it.
OBJECTIONS = {
    "independent": "the question cannot be understood alone",
    "clear": "the question is not one clear question",
    "answerable": "the fact does not answer the question",
}

STEP = Step("feedback", DiagnoseQuestion, limits={"max_tokens": 40, "stop": ["\n"], "temperature": 0.0})
