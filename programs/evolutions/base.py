"""What an evolution is: a way to make a harder question of a seed question."""

from typing import ClassVar, Protocol

from programs.languages.table import Languages
from programs.stages.judge_and_mend import Judged
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Context, Focus

EVOLVED = 1000  # the candidate number of what an evolution makes; seeds count from 0


class Evolution(Protocol):
    """A way to make a harder question; implementations are ``dspy.Module`` classes with their predictors in sight."""

    name: ClassVar[str]

    def __init__(self, tools: Tools) -> None:
        """Take what it writes with."""
        ...

    @staticmethod
    def can_grow(focus: Focus, context: Context, languages: Languages) -> bool:
        """Say without a model whether a question about a focus can be evolved."""
        ...

    def evolve(self, trail: Trail, seed: Judged) -> str | None:
        """Return the evolved question, or refuse it and return None."""
        ...
