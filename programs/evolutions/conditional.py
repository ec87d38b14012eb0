"""Evolution ``conditional``: adds a condition from the question's sentence."""

import dspy

from programs.conditions import condition_in
from programs.evolutions.base import EVOLVED, Evolution, EvolvedQuestion
from programs.languages.base import Condition
from programs.languages.table import Languages
from programs.stages.judge_and_rewrite import Judged
from programs.steps.question import tidy_question
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Context, Focus

NAME = "conditional"


class Conditional(dspy.Module):
    """Add a condition to the question."""

    def __init__(self, tools: Tools) -> None:
        super().__init__()
        self.tools = tools
        self.conditional = tools.predictor(NAME)

    @staticmethod
    def can_evolve(focus: Focus, context: Context, languages: Languages) -> bool:
        """Return whether the sentence of the focus states a condition."""
        return _condition(focus, context, focus.opening, languages) is not None

    def evolve(self, trail: Trail, seed: Judged) -> EvolvedQuestion | None:
        """Return the seed question with a condition from its sentence."""
        context = trail.contexts[0]
        condition = _condition(seed.focus, context, seed.question, self.tools.languages)
        if condition is None:
            trail.refuse(NAME, "the sentence states no condition", question=seed.question)
            return None
        question = condition.composed
        if not question:
            inputs = {"topic": context.topic, "question": seed.question, "condition": condition.text}
            written = self.tools.write(NAME, self.conditional, context.language, **inputs)
            question = tidy_question(written.conditional_question)
        trail.record(NAME, EVOLVED, {"condition": condition.text, "question": question})
        return EvolvedQuestion(question, seed.focus)


def _condition(focus: Focus, context: Context, question: str, languages: Languages) -> Condition | None:
    return condition_in(focus, question, languages[context.language], languages.syntax_in(context.language))


EVOLUTION = Evolution(
    NAME,
    "Adds a condition that the passage states.",
    change="Put the question under a condition, an exception, a time or a circumstance that the passage states and "
    "that decides the answer. Without that condition the answer would be another one, or none.",
    by_syntax=Conditional,
    rank=2,
)
