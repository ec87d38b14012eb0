"""Evolution ``concretise``: asks about a specific case instead of the general rule."""

from programs.evolutions.base import Evolution

EVOLUTION = Evolution(
    "concretise",
    "Asks about a specific case instead of the general rule.",
    change="Ask about one particular case, with the details that somebody in that case would name, instead of the "
    "general matter. What the passage states must settle the case.",
)
