"""Evolution ``by_name``: the seed question, put to the document by its name."""

from typing import ClassVar

import dspy

from programs.evolutions.base import EVOLVED
from programs.languages.table import Languages
from programs.stages.judge_and_mend import Judged
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Context, Focus


class ByName(dspy.Module):
    """Name the document."""

    name: ClassVar[str] = "by_name"

    def __init__(self, tools: Tools) -> None:
        """Need nothing."""
        super().__init__()

    @staticmethod
    def can_grow(focus: Focus, context: Context, languages: Languages) -> bool:
        """Say whether the document has a name."""
        return bool(context.topic)

    def evolve(self, trail: Trail, seed: Judged) -> str | None:
        """Return the seed question with the name of the document before it."""
        question = f"According to {trail.contexts[0].topic}, {seed.question[:1].lower()}{seed.question[1:]}"
        trail.say(self.name, EVOLVED, {"question": question})
        return question
