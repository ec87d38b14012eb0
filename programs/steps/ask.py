"""Step ``ask``: writes questions about a passage, each with its answer and the supporting quote."""

from programs.steps.base import Step
from signatures.ask import AskPassage

STEP = Step("ask", AskPassage, limits={"max_tokens": 400, "temperature": 0.0})

# The length of answers, by the option ``--answers``; part of the prompt.
LENGTHS = {
    "short": "as few words as answer the question, copied where that is possible",
    "open": "one to three whole sentences",
}
