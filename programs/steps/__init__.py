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
    question,
    reasoning,
    rewrite,
    same,
    split,
)
from programs.steps.base import Step

_MODULES = (
    keyphrases,
    question,
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
)

STEPS: Mapping[str, Step] = {module.STEP.name: module.STEP for module in _MODULES}
