"""The evolutions that a mix can ask for, one file each, the plainest first."""

from collections.abc import Mapping

from programs.discover import discover
from programs.evolutions.base import Evolution

EVOLUTIONS: Mapping[str, Evolution] = discover("programs.evolutions", "EVOLUTION", Evolution)
