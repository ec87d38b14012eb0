"""Evolution ``terse``: the question as a short query of at most eight words, by the model."""

from programs.evolutions.base import Evolution
from programs.steps.reword import Style

EVOLUTION = Evolution(
    "terse",
    "Rewords the question as a query of at most eight words.",
    style=Style(
        "As a short query typed in a hurry: three to seven words and no full sentence, but every name and number, and "
        "what is asked for.",
        words=(2, 8),
        is_question=False,
    ),
)
