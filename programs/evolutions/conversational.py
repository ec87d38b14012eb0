"""Evolution ``conversational``: the question as one asks a colleague or a chat assistant, by the model."""

from programs.evolutions.base import Evolution
from programs.steps.reword import Style

EVOLUTION = Evolution(
    "conversational",
    "Rewords the question as one asks a colleague or a chat assistant.",
    style=Style(
        "Conversational: in everyday words and in the first or second person, as one asks a colleague or a chat "
        "assistant. One full question of at most 25 words.",
        words=(4, 30),
    ),
)
