"""Stage ``answer``: the ground truth of a question, checked against its passage."""

from typing import Any

import dspy

from programs.deciding import Decision, with_reason
from programs.features import agreement
from programs.stages.contexts import critic_passage, is_llm_judge
from programs.stages.judge_and_rewrite import Judged
from programs.stages.reading import ReadAnswers
from programs.steps.answer import ground_truth, tidy_answer
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Context


class _AnswerStage(dspy.Module):
    """The checks that both ways of answering share."""

    tools: Tools
    grounding: dspy.Predict

    def _check_found(self, trail: Trail, judged: Judged, output: dict[str, Any], *, stated: bool, agrees: bool) -> bool:
        """Record the answer found in the passage; refuse the question unless it is the expected one."""
        expected, reason = judged.focus.answer, None
        if not stated:
            reason = f"not found in the passage: {expected!r} was expected"
        elif not agrees:
            reason = f"another answer than expected: {output['answer']!r}, not {expected!r}"
        return trail.check("answer", judged.number, output, reason, question=judged.question)

    def _check_support(self, trail: Trail, judged: Judged, passage: str, answer: str, *, brief: bool) -> Decision:
        """Let the critic decide whether a passage supports an answer; refuse the question if it does not.

        With ``brief``, the record holds only the critic's own reason.
        """
        decision = self.tools.decide(
            "grounding", self.grounding, passage=passage, question=judged.question, answer=answer
        )
        probability, reason = decision.probability, None
        if not decision.good:
            reason = with_reason(f"answer not supported: {answer!r}", decision.reason)
            trail.refuse("grounding", reason, probability=probability, question=judged.question)
        if brief and reason:
            reason = decision.reason or None
        output = {"answer": answer}
        trail.record("grounding", judged.number, output, probability=probability, good=decision.good, reason=reason)
        return decision


class Answer(_AnswerStage):
    """Answer a question with the generator and check the answer."""

    def __init__(self, tools: Tools) -> None:
        super().__init__()
        self.tools = tools
        self.answer = tools.predictor("answer")
        self.grounding = tools.predictor("grounding")

    def forward(self, trail: Trail, judged: Judged) -> tuple[str, float] | None:
        """Return the ground truth and the probability that the passage supports it; None if a check fails."""
        inputs = {"topic": judged.contexts[0].topic, "passage": judged.passage, "question": judged.question}
        written = self.tools.write("answer", self.answer, trail.language, **inputs)
        expected = judged.focus.answer
        found = tidy_answer(written.answer, judged.question)
        language = self.tools.languages[trail.language]
        answer = ground_truth(judged.question, found, judged.focus, judged.passage, language)
        output = {"answer": found, "meant": expected, "agreement": round(agreement(found, expected), 3)}
        stated = language.is_stated(found)
        if not self._check_found(trail, judged, output, stated=stated, agrees=answer is not None) or answer is None:
            return None
        decision = self._check_support(trail, judged, judged.passage, answer, brief=True)
        return (answer, decision.probability) if decision.good else None


class AnswerByReading(_AnswerStage):
    """Check the answer that was written with a question: a model that reads the passage must find the same one."""

    def __init__(self, tools: Tools) -> None:
        super().__init__()
        self.tools = tools
        self.reading = ReadAnswers(tools)
        self.grounding = tools.predictor("grounding")

    def forward(self, trail: Trail, judged: Judged) -> tuple[str, float] | None:
        """Return the answer and the probability that the passage supports all of it; None if a check fails.

        An LLM critic judges the whole answer; other critics judge each sentence.
        """
        answer = judged.focus.answer
        found = self.reading.read(trail, judged.question, judged.contexts, answer)
        agrees = found is not None and self.reading.agrees(trail, judged.number, judged.question, answer, found)
        output = {"answer": found, "meant": answer}
        if not self._check_found(trail, judged, output, stated=found is not None, agrees=agrees):
            return None
        passage, probability = critic_passage(self.tools.critics["grounding"], judged.contexts), 1.0
        for part in self._parts(trail, answer):
            decision = self._check_support(trail, judged, passage, part, brief=False)
            if not decision.good:
                return None
            probability = min(probability, decision.probability)
        return answer, probability

    def is_supported(self, trail: Trail, judged: Judged, contexts: tuple[Context, ...]) -> bool:
        """Return whether some of a question's chunks support all of its answer."""
        passage = critic_passage(self.tools.critics["grounding"], contexts)
        return all(
            self.tools.decide("grounding", self.grounding, passage=passage, question=judged.question, answer=part).good
            for part in self._parts(trail, judged.focus.answer)
        )

    def _parts(self, trail: Trail, answer: str) -> list[str]:
        """Return the parts of an answer that the critic judges one by one."""
        if is_llm_judge(self.tools.critics["grounding"]):
            return [answer]
        return self.tools.question_language(trail.language).sentences(answer) or [answer]
