"""Evolution ``like``: the question in the style of the user's own queries, by the model."""

from programs.evolutions.base import Evolution
from programs.steps.reword import Style

EVOLUTION = Evolution(
    "like",
    "Rewords the question in the style of your own queries, given by --like.",
    style=Style(
        "Like the examples: about as long, with their grammar, capitals and punctuation, but nothing of what they are "
        "about.",
        words=(2, 60),
        is_question=False,
        shows_examples=True,
    ),
)
