"""Evolution ``deepen``: asks for the mechanism or the reason behind the answer."""

from programs.evolutions.base import Evolution

EVOLUTION = Evolution(
    "deepen",
    "Asks for the mechanism or the reason behind the answer.",
    change="Ask for what lies behind the answer: the reason, the mechanism or the steps that the passage gives for it.",
)
