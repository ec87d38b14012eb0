"""Stage ``judge and rewrite``: judge every question; rewrite a refused one and judge it again."""

from typing import NamedTuple

import dspy

from programs.deciding import Decision
from programs.focus import is_full_question
from programs.stages.contexts import critic_passage, passage_of, relevant_groups
from programs.steps.feedback import OBJECTIONS
from programs.steps.question import seed_question
from programs.steps.rewrite import MIN_PROBABILITY, REWRITE_ROUNDS
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Context, Focus, Retrieval


class Judged(NamedTuple):
    """A judged question.

    ``number`` is its position among the candidates of the attempt; ``focus`` is what the question is about.
    """

    number: int
    focus: Focus
    question: str
    contexts: tuple[Context, ...]
    decision: Decision
    retrieval: Retrieval

    @property
    def passage(self) -> str:
        """Return the text that the question is answered from."""
        return passage_of(self.contexts)

    @property
    def relevant(self) -> tuple[tuple[str, ...], ...]:
        """Return the ids of the needed chunks, each in a group of its own."""
        return relevant_groups(self.contexts)


class JudgeAndRewrite(dspy.Module):
    """Judge questions; rewrite a refused one with feedback."""

    def __init__(self, tools: Tools) -> None:
        super().__init__()
        self.tools = tools
        self.judge = tools.predictor("judge")
        self.feedback = tools.predictor("feedback")
        self.rewrite = tools.predictor("rewrite")

    def decide(self, question: str, contexts: tuple[Context, ...]) -> Decision:
        """Let the critic decide on a question about some chunks."""
        passage = critic_passage(self.tools.critics["judge"], contexts)
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
        retrieval = self.tools.retriever.rank(question, relevant_groups(contexts))
        return Judged(number, focus, question, contexts, decision, retrieval)

    def rewrite_refused(self, trail: Trail, refused: Judged) -> Judged:
        """Rewrite a refused question with feedback, in a limited number of rounds.

        Questions with a low probability are not rewritten, nor are those made of the words of their sentence: small
        models improved 0 of 13 of these.
        """
        judged = refused
        for _ in range(REWRITE_ROUNDS):
            if judged.decision.probability < MIN_PROBABILITY or is_full_question(judged.focus):
                break
            inputs = {"topic": judged.contexts[-1].topic, "fact": judged.focus.fact, "question": judged.question}
            feedback = judged.decision.reason or self._feedback(trail, judged, inputs)
            inputs |= {"answer": judged.focus.answer, "feedback": feedback}
            written = self.tools.write("rewrite", self.rewrite, trail.language, **inputs)
            question = seed_question(
                written.better_question, judged.focus, self.tools.question_language(trail.language)
            )
            trail.record("rewrite", judged.number, {"feedback": feedback, "question": question})
            if question == judged.question:
                break
            judged = self(trail, judged.number, judged.focus, question, judged.contexts)
            if judged.decision.good:
                break
        return judged

    def _feedback(self, trail: Trail, judged: Judged, inputs: dict[str, str]) -> str:
        """Let the generator say what must change, for critics that give no reasons."""
        objection = OBJECTIONS[judged.decision.weakest]
        written = self.tools.write("feedback", self.feedback, trail.language, **inputs, objection=objection)
        return str(written.feedback)

    def refuse(self, trail: Trail, judged: Judged) -> None:
        """Record a question that did not pass as a reject."""
        decision = judged.decision
        if not decision.good:
            trail.refuse("judge", decision.refusal, probability=decision.probability, question=judged.question)
