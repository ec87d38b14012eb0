"""Evolution ``hypothetical``: asks what would apply in an imagined case."""

from programs.evolutions.base import Evolution

EVOLUTION = Evolution(
    "hypothetical",
    "Asks what would apply in an imagined case.",
    change='Ask what would hold if somebody were in a certain situation ("If …, what …?"). What the passage states '
    "must settle it.",
)
