"""Stage ``reading``: a question answered from passages by a model that does not know the answer that was meant."""

import dspy

from programs.features import agreement, answers_agree
from programs.stages.judge_and_rewrite import passage_of
from programs.steps.answer import tidy_answer
from programs.text import tokens
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Context

_SHORT = 12  # words; longer answers are asked for in whole sentences


class ReadAnswers(dspy.Module):
    """Answer questions, and compare the answers with those that were meant."""

    def __init__(self, tools: Tools) -> None:
        """Take what answers and the critic that compares answers."""
        super().__init__()
        self.tools = tools
        self.answer = tools.predictor("answer")
        self.open_answer = tools.predictor("open_answer")
        self.agree = tools.predictor("agree")

    def read(self, trail: Trail, question: str, contexts: tuple[Context, ...], meant: str) -> str | None:
        """Return what a model finds in some chunks, about as long as the answer meant; None if it finds nothing."""
        step, predict = ("answer", self.answer) if len(tokens(meant)) <= _SHORT else ("open_answer", self.open_answer)
        topic = " | ".join(dict.fromkeys(context.topic for context in contexts))
        asked = {"topic": topic, "passage": passage_of(contexts), "question": question}
        written = self.tools.write(step, predict, trail.language, **asked)
        found = tidy_answer(written.answer, question) if step == "answer" else " ".join(written.answer.split())
        return found if self.tools.languages[trail.language].is_stated(found) else None

    def agrees(self, trail: Trail, number: int, question: str, meant: str, found: str) -> bool:
        """Return whether two answers say the same; the critic is asked only where their words do not settle it.

        For a critic that reads only the same words do: most of two answers may be the same, and one word a lie.
        """
        if getattr(self.tools.critics["agree"], "reads", False):
            settled = tokens(found) == tokens(meant)
        else:
            settled = answers_agree(found, meant, self.tools.languages[trail.language])
        if settled:
            return True
        decision = self.tools.decide("agree", self.agree, question=question, first=meant, second=found)
        output = {"meant": meant, "found": found, "agreement": round(agreement(found, meant), 3)}
        trail.record("agree", number, output, probability=decision.probability, good=decision.good)
        return decision.good
