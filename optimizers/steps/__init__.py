"""The steps that can be compiled: one file each with its gold rows, examples, metric and pool of instructions."""

from collections.abc import Mapping

from optimizers.steps.base import Compiling, Fitting
from programs.discover import discover

COMPILABLE: Mapping[str, Compiling] = discover("optimizers.steps", "COMPILING", Compiling)

# Those whose heads can be fitted.
FITTED: Mapping[str, Fitting] = {
    name: compiling.fitting for name, compiling in COMPILABLE.items() if compiling.fitting is not None
}
