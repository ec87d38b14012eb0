"""Stage ``compose``: write one question about the facts of several chunks, in small steps."""

from collections.abc import Mapping
from typing import Any

import dspy

from programs.facts import LinkedFacts
from programs.steps.describe import replace_name
from programs.steps.question import seed_question
from programs.text import has_words
from programs.tools import Tools
from programs.trail import Trail

STEP = "multi_context"
Sampling = Mapping[str, Any] | None


class Compose(dspy.Module):
    """Compare things; or ask about one fact and replace the shared name by a description from another fact."""

    def __init__(self, tools: Tools) -> None:
        super().__init__()
        self.tools = tools
        self.question = tools.predictor("question")
        self.describe = tools.predictor("describe")
        self.multi_context = tools.predictor(STEP)

    def forward(self, trail: Trail, number: int, facts: LinkedFacts, sampling: Sampling) -> str | None:
        """Return a question that needs all facts; refuse it and return None if a name was not described."""
        return (self._bridge if facts.names else self._compare)(trail, number, facts, sampling)

    def _compare(self, trail: Trail, number: int, facts: LinkedFacts, sampling: Sampling) -> str | None:
        inputs = {"facts": [fact.fact for fact in facts.facts], "compare": facts.compare, "answer": facts.answer}
        topic = " | ".join(context.topic for context in facts.contexts)
        written = self.tools.write(STEP, self.multi_context, trail.language, sampling, topic=topic, **inputs)
        trail.record(STEP, number, {"question": written.question, **inputs})
        return str(written.question)

    def _bridge(self, trail: Trail, number: int, facts: LinkedFacts, sampling: Sampling) -> str | None:
        language, focus = self.tools.languages[trail.language], facts.facts[-1]
        inputs = {"topic": facts.contexts[-1].topic, "fact": focus.fact, "answer": focus.answer}
        written = self.tools.write("question", self.question, language.code, sampling, opening=focus.opening, **inputs)
        question = seed = seed_question(written.question, focus, language)
        phrases = []
        for fact, name in zip(facts.facts, facts.names, strict=False):
            inputs = {"fact": fact.fact, "name": name}
            phrases.append(self.tools.write("describe", self.describe, language.code, sampling, **inputs).phrase)
            question = replace_name(question, name, phrases[-1])
        trail.record(STEP, number, {"question": question, "seed": seed, "names": facts.names, "phrases": phrases})
        if question and not any(has_words(question, name) for name in facts.names):
            return question
        trail.refuse(STEP, "a name was not described", question=question or seed)
        return None
