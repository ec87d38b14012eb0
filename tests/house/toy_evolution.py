"""Evolution ``by_name``: adds the name of the document to the question."""

import dspy

from programs.evolutions.base import EVOLVED, Evolution, EvolvedQuestion
from programs.languages.table import Languages
from programs.stages.judge_and_rewrite import Judged
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Context, Focus

NAME = "by_name"


class ByName(dspy.Module):
    """Add the name of the document."""

    def __init__(self, tools: Tools) -> None:

        super().__init__()

    @staticmethod
    def can_evolve(focus: Focus, context: Context, languages: Languages) -> bool:
        """Return whether the document has a name."""
        return bool(context.topic)

    def evolve(self, trail: Trail, seed: Judged) -> EvolvedQuestion | None:
        """Return the seed question after the name of the document."""
        question = f"According to {trail.contexts[0].topic}, {seed.question[:1].lower()}{seed.question[1:]}"
        trail.record(NAME, EVOLVED, {"question": question})
        return EvolvedQuestion(question, seed.focus)


EVOLUTION = Evolution(NAME, "Adds the name of the document.", by_syntax=ByName)
