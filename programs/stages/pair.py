"""Stage ``pair``: write a question about a sentence with its answer; sample again while simple checks fail."""

from collections.abc import Mapping
from typing import Any

import dspy

from programs.features import kind_agrees
from programs.languages.base import Language
from programs.stages.sound import Sound, pair_inputs
from programs.steps.question import seed_question
from programs.text import has_words
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Focus

_DRAWS = 3  # the first one is greedy, the others are sampled
_TEMPERATURE = 0.8


class Pair(dspy.Module):
    """Ask about an open focus; sample another pair if the words or the fine-tuned critic ``sound`` refuse it."""

    def __init__(self, tools: Tools) -> None:
        super().__init__()
        self.tools = tools
        self.pair = tools.predictor("pair")
        self.sound = Sound(tools)

    def forward(self, trail: Trail, number: int, focus: Focus) -> tuple[Focus, str] | None:
        """Return the focus with its answer, and the question; None if every draw was refused."""
        language = self.tools.languages[trail.language]
        inputs = pair_inputs(focus, trail.contexts[0], self.tools.languages)
        for draw in range(_DRAWS):
            sampling: Mapping[str, Any] | None = None
            if draw:
                sampling = {"temperature": _TEMPERATURE, "seed": trail.attempt.seed + draw}
            written = self.tools.write("pair", self.pair, trail.language, sampling, **inputs)
            answered = focus.model_copy(update={"answer": written.answer.rstrip(".")})
            question = seed_question(written.question, answered, language)
            reason = _refusal(answered, question, language)
            output = {"question": question, **answered.model_dump()}
            passes = trail.check("pair", number, output, reason, question=question)
            if passes and self.sound(trail, number, answered, question):
                return answered, question
        return None


def _refusal(focus: Focus, question: str, language: Language) -> str | None:
    """Return why simple checks refuse a pair; None if they accept it."""
    if not focus.answer or focus.answer not in focus.sentence:
        return f"the sentence does not hold the answer: {focus.answer!r}"
    if focus.answer.rstrip(".") == focus.sentence.rstrip("."):
        return "the answer is the whole sentence"
    if has_words(question, focus.answer):
        return f"it gives its answer away: {focus.answer!r}"
    if not kind_agrees(question, focus.answer, language):
        return f"it asks for another kind of thing than {focus.answer!r}"
    return None
