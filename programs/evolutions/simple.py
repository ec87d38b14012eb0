"""Evolution ``simple``: the seed question as it is."""

from typing import ClassVar

import dspy

from programs.languages.table import Languages
from programs.stages.judge_and_mend import Judged
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Context, Focus


class Simple(dspy.Module):
    """Leave the seed question as it is."""

    name: ClassVar[str] = "simple"

    def __init__(self, tools: Tools) -> None:
        """Need nothing."""
        super().__init__()

    @staticmethod
    def can_grow(focus: Focus, context: Context, languages: Languages) -> bool:
        """Say yes."""
        return True

    def evolve(self, trail: Trail, seed: Judged) -> str | None:
        """Return the seed question."""
        return seed.question
