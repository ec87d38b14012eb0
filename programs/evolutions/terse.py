"""Evolution ``terse``: the question as a short query of at most eight words, by the model."""

from programs.evolutions.base import Evolution
from programs.steps.reword import Style

EVOLUTION = Evolution(
    "terse",
    "Rewords the question as a query of at most eight words.",
    style=Style(
        "Terse: a query of at most eight words and no full sentence, as typed in a hurry, but with every name and "
        "number and with what is asked for.",
        words=(2, 8),
        is_question=False,
    ),
)
