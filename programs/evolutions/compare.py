"""Evolution ``compare``: asks how two things in the passage differ."""

from programs.evolutions.base import Evolution

EVOLUTION = Evolution(
    "compare",
    "Asks how two things in the passage differ.",
    change="Ask how two things that the passage speaks of differ or agree in one respect, and name both.",
)
