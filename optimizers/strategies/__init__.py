"""The strategies for compiling steps, one file each."""

from collections.abc import Mapping

from optimizers.strategies.base import Strategy
from programs.discover import discover

STRATEGIES: Mapping[str, Strategy] = discover(__name__, "STRATEGY", Strategy)
