"""Stage ``judge and rewrite``: every question is judged, and a refused one rewritten and judged again."""

from typing import Any, NamedTuple

import dspy

from programs.deciding import Decision
from programs.focus import is_whole
from programs.steps.feedback import OBJECTIONS
from programs.steps.question import seed_question
from programs.steps.rewrite import REWRITE_ROUNDS, WORTH_REWRITING
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Context, Focus, Retrieval


class Judged(NamedTuple):
    """A judged question.

    ``number`` is its place among the candidates of the attempt; ``focus`` is what it was asked about.
    """

    number: int
    focus: Focus
    question: str
    contexts: tuple[Context, ...]
    decision: Decision
    retrieval: Retrieval

    @property
    def passage(self) -> str:
        """Return what the question is judged and answered on."""
        return passage_of(self.contexts)

    @property
    def relevant(self) -> tuple[tuple[str, ...], ...]:
        """Return the ids of the chunks that are needed, each a group of its own."""
        return groups_of(self.contexts)


def passage_of(contexts: tuple[Context, ...]) -> str:
    """Return the passages of contexts as one text."""
    return "\n\n".join(context.passage for context in contexts)


def seen_by(critic: Any, contexts: tuple[Context, ...]) -> str:
    """Return what a critic is shown of contexts: one that reads sees the title and headings of each passage too.

    A question may name what only these name, and whoever wrote it saw them.
    """
    if not getattr(critic, "reads", False):
        return passage_of(contexts)
    return "\n\n".join(f"[{context.topic}]\n{context.passage}" for context in contexts)


def groups_of(contexts: tuple[Context, ...]) -> tuple[tuple[str, ...], ...]:
    """Return the ids of contexts, each a group of its own."""
    return tuple((context.chunk.chunk_id,) for context in contexts)


class JudgeAndRewrite(dspy.Module):
    """Judge questions; rewrite a refused one with feedback."""

    def __init__(self, tools: Tools) -> None:
        """Build the critic of questions and the predictors that rewrite."""
        super().__init__()
        self.tools = tools
        self.judge = tools.predictor("judge")
        self.feedback = tools.predictor("feedback")
        self.rewrite = tools.predictor("rewrite")

    def decide(self, question: str, contexts: tuple[Context, ...]) -> Decision:
        """Let the critic decide on a question about some chunks."""
        passage = seen_by(self.tools.critics["judge"], contexts)
        return self.tools.decide("judge", self.judge, passage=passage, question=question)

    def forward(
        self, trail: Trail, number: int, focus: Focus, question: str, contexts: tuple[Context, ...] = ()
    ) -> Judged:
        """Judge a question about the contexts of an attempt, or some of them."""
        question, contexts = question or "-", contexts or trail.contexts
        decision = self.decide(question, contexts)
        trail.record(
            "judge",
            number,
            {"question": question, **decision.as_output()},
            probability=decision.probability,
            good=decision.good,
            reason=None if decision.good else decision.refusal,
        )
        retrieval = self.tools.retriever.rank(question, groups_of(contexts))
        return Judged(number, focus, question, contexts, decision, retrieval)

    def rewrite_refused(self, trail: Trail, refused: Judged) -> Judged:
        """Rewrite a refused question with feedback, a bounded number of rounds, unless it is too far from good."""
        judged = refused
        for _ in range(REWRITE_ROUNDS):
            if judged.decision.probability < WORTH_REWRITING or is_whole(judged.focus):
                break  # a question in the sentence's own words is not rewritten by a small model: 0 of 13
            asked = {"topic": judged.contexts[-1].topic, "fact": judged.focus.fact, "question": judged.question}
            advice = judged.decision.why or self._advice(trail, judged, asked)
            asked |= {"answer": judged.focus.answer, "feedback": advice}
            written = self.tools.write("rewrite", self.rewrite, trail.language, **asked)
            question = seed_question(written.better_question, judged.focus, self.tools.languages[trail.language])
            trail.record("rewrite", judged.number, {"feedback": advice, "question": question})
            if question == judged.question:
                break
            judged = self(trail, judged.number, judged.focus, question, judged.contexts)
            if judged.decision.good:
                break
        return judged

    def _advice(self, trail: Trail, judged: Judged, asked: dict[str, str]) -> str:
        """Return what must change, by the generator: for critics that give no reasons."""
        objection = OBJECTIONS[judged.decision.weakest]
        written = self.tools.write("feedback", self.feedback, trail.language, **asked, objection=objection)
        return str(written.feedback)

    def refuse(self, trail: Trail, judged: Judged) -> None:
        """Record a question that did not pass as a reject."""
        decision = judged.decision
        if not decision.good:
            trail.refuse("judge", decision.refusal, probability=decision.probability, question=judged.question)
