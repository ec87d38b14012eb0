"""The steps that recipes are composed of: one file each with its row, its limits and its tidying."""

from collections.abc import Mapping

from programs.steps import (
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
from programs.steps.base import Step

_MODULES = (
    keyphrases,
    question,
    pair,
    ask,
    evolve,
    combine,
    reasoning,
    conditional,
    describe,
    multi_context,
    split,
    compress,
    feedback,
    rewrite,
    answer,
    open_answer,
    chunk,
    judge,
    same,
    grounding,
    agree,
    sound,
)

STEPS: Mapping[str, Step] = {module.STEP.name: module.STEP for module in _MODULES}
