"""Evolution ``constrain``: adds a restriction that rules out other answers."""

from programs.evolutions.base import Evolution

EVOLUTION = Evolution(
    "constrain",
    "Adds a restriction that rules out other answers.",
    change="Add one restriction that the passage states, such as a place, a group, a limit or a period, so that fewer "
    "things are asked about and the answer becomes more exact.",
)
