"""Stage ``compose``: one question of the facts of several chunks, in jobs that are easy each."""

from collections.abc import Mapping
from typing import Any

import dspy

from programs.facts import LinkedFacts
from programs.steps.describe import in_place_of
from programs.steps.question import seed_question
from programs.text import has_words
from programs.tools import Tools
from programs.trail import Trail

STEP = "multi_context"
Sampling = Mapping[str, Any] | None


class Compose(dspy.Module):
    """Compare things; or ask about one fact, and put what another tells in the place of the name that they share."""

    def __init__(self, tools: Tools) -> None:
        """Build the predictors that ask, describe and compare."""
        super().__init__()
        self.tools = tools
        self.question = tools.predictor("question")
        self.describe = tools.predictor("describe")
        self.multi_context = tools.predictor(STEP)

    def forward(self, trail: Trail, number: int, facts: LinkedFacts, sampling: Sampling) -> str | None:
        """Return a question that takes all facts to answer, or refuse it and return None."""
        return (self._bridge if facts.names else self._compare)(trail, number, facts, sampling)

    def _compare(self, trail: Trail, number: int, facts: LinkedFacts, sampling: Sampling) -> str | None:
        asked = {"facts": [fact.fact for fact in facts.facts], "compare": facts.compare, "answer": facts.answer}
        topic = " | ".join(context.topic for context in facts.contexts)
        written = self.tools.write(STEP, self.multi_context, trail.language, sampling, topic=topic, **asked)
        trail.record(STEP, number, {"question": written.question, **asked})
        return str(written.question)

    def _bridge(self, trail: Trail, number: int, facts: LinkedFacts, sampling: Sampling) -> str | None:
        language, focus = self.tools.languages[trail.language], facts.facts[-1]
        asked = {"topic": facts.contexts[-1].topic, "fact": focus.fact, "answer": focus.answer}
        written = self.tools.write("question", self.question, language.code, sampling, opening=focus.opening, **asked)
        question = seed = seed_question(written.question, focus, language)
        phrases = []
        for fact, name in zip(facts.facts, facts.names, strict=False):
            asked = {"fact": fact.fact, "name": name}
            phrases.append(self.tools.write("describe", self.describe, language.code, sampling, **asked).phrase)
            question = in_place_of(name, phrases[-1], question)
        trail.record(STEP, number, {"question": question, "seed": seed, "names": facts.names, "phrases": phrases})
        if question and not any(has_words(question, name) for name in facts.names):
            return question
        trail.refuse(STEP, "a name was not described", question=question or seed)
        return None
