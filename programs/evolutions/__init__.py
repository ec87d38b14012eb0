"""The evolutions, one file each, in the order of their rank."""

from collections.abc import Mapping

from programs.discover import discover
from programs.evolutions.base import Evolution

EVOLUTIONS: Mapping[str, Evolution] = discover("programs.evolutions", "EVOLUTION", Evolution)
