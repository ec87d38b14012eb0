"""Evolution ``broaden``: asks for all of what the question asks a part of."""

from programs.evolutions.base import Evolution

EVOLUTION = Evolution(
    "broaden",
    "Asks for all of what the question asks a part of.",
    change="Ask for the whole of which the question asks a part: all reasons, all steps, all conditions or the "
    "overall effect, as far as the passage lists them.",
)
