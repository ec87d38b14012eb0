"""Evolution ``conditional``: the seed question under a condition that its sentence states."""

from typing import ClassVar

import dspy

from programs.conditions import condition_in
from programs.evolutions.base import EVOLVED
from programs.languages.base import Condition
from programs.languages.table import Languages
from programs.stages.judge_and_mend import Judged
from programs.steps.question import tidy_question
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Context, Focus


class Conditional(dspy.Module):
    """Put the question under a condition."""

    name: ClassVar[str] = "conditional"

    def __init__(self, tools: Tools) -> None:
        """Take what joins a condition and a question."""
        super().__init__()
        self.tools = tools
        self.conditional = tools.predictor(self.name)

    @staticmethod
    def can_grow(focus: Focus, context: Context, languages: Languages) -> bool:
        """Say whether the sentence of the focus states a condition."""
        return _condition(focus, context, focus.opening, languages) is not None

    def evolve(self, trail: Trail, seed: Judged) -> str | None:
        """Return the seed question under a condition that its sentence states."""
        context = trail.contexts[0]
        condition = _condition(seed.focus, context, seed.question, self.tools.languages)
        if condition is None:
            trail.refuse(self.name, "the sentence states no condition", question=seed.question)
            return None
        question = condition.composed
        if not question:
            asked = {"topic": context.topic, "question": seed.question, "condition": condition.text}
            written = self.tools.write(self.name, self.conditional, context.language, **asked)
            question = tidy_question(written.conditional_question)
        trail.say(self.name, EVOLVED, {"condition": condition.text, "question": question})
        return question


def _condition(focus: Focus, context: Context, question: str, languages: Languages) -> Condition | None:
    return condition_in(focus, question, languages[context.language], languages.syntax_in(context.language))
