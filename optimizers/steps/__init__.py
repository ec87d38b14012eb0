"""The steps that can be compiled: one file each with its examples, its metric and its pool of instructions."""

from collections.abc import Mapping

from optimizers.steps import (
    agree,
    answer,
    ask,
    chunk,
    combine,
    compress,
    conditional,
    describe,
    evolve,
    feedback,
    grounding,
    judge,
    keyphrases,
    multi_context,
    open_answer,
    pair,
    question,
    reasoning,
    rewrite,
    same,
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
    multi_context,
    describe,
    reasoning,
    conditional,
    compress,
    feedback,
    rewrite,
    answer,
    open_answer,
    split,
    chunk,
    judge,
    same,
    grounding,
    agree,
    sound,
)

COMPILABLE: Mapping[str, Compiling] = {module.COMPILING.step.name: module.COMPILING for module in _MODULES}

# Those whose heads can be fitted.
FITTED: Mapping[str, Fitting] = {
    name: compiling.fitting for name, compiling in COMPILABLE.items() if compiling.fitting is not None
}
