"""Evolution ``concretise``: asks about a particular case of something general."""

from programs.evolutions.base import Evolution

EVOLUTION = Evolution(
    "concretise",
    "Asks about a particular case of something general.",
    change="Ask about one particular case, with the details that somebody in that case would name, instead of the "
    "general matter. What the passage states must settle the case.",
)
