"""The steps that recipes are composed of: one file each with its row, its limits and its tidying."""

from collections.abc import Mapping

from programs.discover import discover
from programs.steps.base import Step

STEPS: Mapping[str, Step] = discover("programs.steps", "STEP", Step)
