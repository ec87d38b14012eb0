"""The evolutions that a mix can ask for, by name, the plainest first."""

from collections.abc import Mapping

from programs.evolutions.base import Evolution
from programs.evolutions.conditional import Conditional
from programs.evolutions.reasoning import Reasoning
from programs.evolutions.simple import Simple

EVOLUTIONS: Mapping[str, type[Evolution]] = {each.name: each for each in (Simple, Reasoning, Conditional)}
