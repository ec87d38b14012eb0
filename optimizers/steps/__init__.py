"""The steps that can be compiled: one file each with its gold rows, examples, metric and pool of instructions."""

from collections.abc import Mapping

from optimizers.gold import GoldRow
from optimizers.steps.base import Compiling, Fitting
from programs.discover import discover

COMPILABLE: Mapping[str, Compiling] = discover("optimizers.steps", "COMPILING", Compiling)
FITTED: Mapping[str, Fitting] = {name: row.fitting for name, row in COMPILABLE.items() if row.fitting is not None}
GOLD: Mapping[str, type[GoldRow]] = {name: row.gold for name, row in COMPILABLE.items() if row.gold is not None}
