"""Evolution ``persona``: the question as a given person would ask it, by the model."""

from programs.evolutions.base import Evolution
from programs.steps.reword import PERSONA, Style

PERSONAS = (  # for any documents, where the user names none
    "a newcomer who has never heard of the subject",
    "an expert who checks one detail",
    "a student who prepares for an examination",
    "a journalist who checks a fact before the deadline",
    "a clerk who has to answer a customer's letter",
    "a grandmother who wants to explain it to a child",
    "an engineer who dislikes long sentences",
    "a lawyer who chooses every word with care",
)

EVOLUTION = Evolution(
    "persona",
    "Rewords the question as a person named by --personas would ask it.",
    style=Style(
        f"Persona: as {PERSONA} would ask it, in the words and the tone of that person. One full question of at most "
        "30 words.",
        words=(4, 40),
    ),
)
