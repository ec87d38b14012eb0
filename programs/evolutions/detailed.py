"""Evolution ``detailed``: the question after the situation that leads to it, by the model."""

from programs.evolutions.base import Evolution
from programs.steps.reword import Style

EVOLUTION = Evolution(
    "detailed",
    "Rewords the question in 25 to 45 words, with the situation that leads to it.",
    style=Style(
        "Detailed: 30 to 40 words, first a sentence on what the person who asks is doing, then the full question with "
        "every name. The situation is everyday and says nothing about the subject that the question does not say.",
        words=(25, 45),
    ),
)
