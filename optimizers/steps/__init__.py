"""The steps that can be compiled: one file each with its examples, its metric and its pool of instructions."""

from collections.abc import Mapping

from optimizers.steps import (
    answer,
    ask,
    chunk,
    combine,
    compress,
    conditional,
    evolve,
    grounding,
    judge,
    keyphrases,
    open_answer,
    pair,
    question,
    reasoning,
    rewrite,
    sound,
    split,
)
from optimizers.steps.base import Compiling, Fitting

_MODULES = (
    keyphrases,
    question,
    pair,
    ask,
    evolve,
    combine,
    reasoning,
    conditional,
    compress,
    rewrite,
    answer,
    open_answer,
    split,
    chunk,
    judge,
    grounding,
    sound,
)

COMPILABLE: Mapping[str, Compiling] = {module.COMPILING.step.name: module.COMPILING for module in _MODULES}

# Those whose heads can be fitted.
FITTED: Mapping[str, Fitting] = {
    name: compiling.fitting for name, compiling in COMPILABLE.items() if compiling.fitting is not None
}
