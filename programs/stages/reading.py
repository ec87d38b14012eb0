"""Stage ``reading``: a model answers a question from passages without seeing the expected answer."""

import dspy

from programs.features import agreement, answers_agree
from programs.stages.contexts import is_llm_judge, passage_of
from programs.steps.answer import tidy_answer
from programs.text import tokens
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Context

_SHORT_WORDS = 12  # longer answers are written in whole sentences


class ReadAnswers(dspy.Module):
    """Answer questions, and compare the answers with the expected ones."""

    def __init__(self, tools: Tools) -> None:
        super().__init__()
        self.tools = tools
        self.answer = tools.predictor("answer")
        self.open_answer = tools.predictor("open_answer")
        self.agree = tools.predictor("agree")

    def read(self, trail: Trail, question: str, contexts: tuple[Context, ...], expected: str) -> str | None:
        """Return the answer found in chunks, about as long as the expected one; None if there is none."""
        short = len(tokens(expected)) <= _SHORT_WORDS
        step, predict = ("answer", self.answer) if short else ("open_answer", self.open_answer)
        topic = " | ".join(dict.fromkeys(context.topic for context in contexts))
        inputs = {"topic": topic, "passage": passage_of(contexts), "question": question}
        written = self.tools.write(step, predict, trail.language, **inputs)
        found = tidy_answer(written.answer, question) if short else " ".join(written.answer.split())
        return found if self.tools.question_language(trail.language).is_stated(found) else None

    def agrees(self, trail: Trail, number: int, question: str, expected: str, found: str) -> bool:
        """Return whether two answers say the same; the critic is called only where their words do not settle it.

        If the critic is an LLM, only identical tokens skip the call: one wrong word among many may change the answer.
        """
        if is_llm_judge(self.tools.critics["agree"]):
            settled = tokens(found) == tokens(expected)
        else:
            settled = answers_agree(found, expected, self.tools.question_language(trail.language))
        if settled:
            return True
        decision = self.tools.decide("agree", self.agree, question=question, first=expected, second=found)
        output = {"meant": expected, "found": found, "agreement": round(agreement(found, expected), 3)}
        trail.record("agree", number, output, probability=decision.probability, good=decision.good)
        return decision.good
