"""Evolution ``simple``: the seed question as it is."""

import dspy

from programs.evolutions.base import Evolution, EvolvedQuestion
from programs.languages.table import Languages
from programs.stages.judge_and_rewrite import Judged
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Context, Focus


class Simple(dspy.Module):
    """Leave the seed question as it is."""

    def __init__(self, tools: Tools) -> None:
        super().__init__()

    @staticmethod
    def can_evolve(focus: Focus, context: Context, languages: Languages) -> bool:
        """Return True."""
        return True

    def evolve(self, trail: Trail, seed: Judged) -> EvolvedQuestion | None:
        """Return the seed question."""
        return EvolvedQuestion(seed.question, seed.focus)


EVOLUTION = Evolution("simple", "Leaves the question as it is.", by_syntax=Simple, rank=0)
