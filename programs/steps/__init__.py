"""The steps, one file each: signature, limits, and how completions are cleaned up."""

from collections.abc import Mapping

from programs.discover import discover
from programs.steps.base import Step

STEPS: Mapping[str, Step] = discover("programs.steps", "STEP", Step)
