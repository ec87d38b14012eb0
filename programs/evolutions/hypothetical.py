"""Evolution ``hypothetical``: asks what holds in a case that somebody imagines."""

from programs.evolutions.base import Evolution

EVOLUTION = Evolution(
    "hypothetical",
    "Asks what holds in a case that somebody imagines.",
    change='Ask what would hold if somebody were in a certain situation ("If …, what …?"). What the passage states '
    "must settle it.",
)
