"""Evolution ``broaden``: asks for the whole list instead of one part."""

from programs.evolutions.base import Evolution

EVOLUTION = Evolution(
    "broaden",
    "Asks for the whole list instead of one part.",
    change="Ask for the whole of which the question asks a part: all reasons, all steps, all conditions or the "
    "overall effect, as far as the passage lists them.",
)
