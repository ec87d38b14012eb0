"""Stage ``pair``: a question about a sentence with its answer, drawn again while their words tell that it is bad."""

from collections.abc import Mapping
from typing import Any

import dspy

from programs.features import kind_agrees
from programs.stages.sound import Sound, shown_about
from programs.steps.question import seed_question
from programs.text import has_words
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Focus

_DRAWS = 3  # the likeliest pair, then others
_TEMPERATURE = 0.8


class Pair(dspy.Module):
    """Ask about an open focus, and draw other questions while a taught critic, if there is one, finds none sound."""

    def __init__(self, tools: Tools) -> None:
        """Build the predictor that writes pairs, and their critic."""
        super().__init__()
        self.tools = tools
        self.pair = tools.predictor("pair")
        self.sound = Sound(tools)

    def forward(self, trail: Trail, number: int, focus: Focus) -> tuple[Focus, str] | None:
        """Return the focus with its answer and the question; None where every draw was refused."""
        language = self.tools.languages[trail.language]
        asked = shown_about(focus, trail.contexts[0], self.tools.languages)
        for draw in range(_DRAWS):
            sampling: Mapping[str, Any] | None = None
            if draw:
                sampling = {"temperature": _TEMPERATURE, "seed": trail.attempt.seed + draw}
            written = self.tools.write("pair", self.pair, trail.language, sampling, **asked)
            about = focus.model_copy(update={"answer": written.answer.rstrip(".")})
            question = seed_question(written.question, about, language)
            reason = self._fault(about, question, trail.language)
            trail.record(
                "pair", number, {"question": question, **about.model_dump()}, good=reason is None, reason=reason
            )
            if reason is not None:
                trail.refuse("pair", reason, question=question)
            elif self.sound(trail, number, about, question):
                return about, question
        return None

    def _fault(self, focus: Focus, question: str, code: str) -> str | None:
        """Return what is wrong with a pair, as far as its words tell."""
        if not focus.answer or focus.answer not in focus.sentence:
            return f"the sentence does not hold the answer: {focus.answer!r}"
        if focus.answer.rstrip(".") == focus.sentence.rstrip("."):
            return "the answer is the whole sentence"
        if has_words(question, focus.answer):
            return f"it gives its answer away: {focus.answer!r}"
        if not kind_agrees(question, focus.answer, self.tools.languages[code]):
            return f"it asks for another kind of thing than {focus.answer!r}"
        return None
