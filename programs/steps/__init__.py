"""The steps that recipes are composed of: one file each with its row, its limits and its tidying."""

from collections.abc import Mapping

from programs.steps import (
    answer,
    chunk,
    compress,
    conditional,
    describe,
    feedback,
    grounding,
    judge,
    keyphrases,
    multi_context,
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
    reasoning,
    conditional,
    describe,
    multi_context,
    split,
    compress,
    feedback,
    rewrite,
    answer,
    chunk,
    judge,
    same,
    grounding,
    sound,
)

STEPS: Mapping[str, Step] = {module.STEP.name: module.STEP for module in _MODULES}
