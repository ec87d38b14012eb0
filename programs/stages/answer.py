"""Stage ``answer``: the ground truth, found in the passage by the generator and supported by it."""

import dspy

from programs.deciding import because
from programs.features import agreement
from programs.stages.judge_and_rewrite import Judged
from programs.steps.answer import ground_truth, tidy_answer
from programs.tools import Tools
from programs.trail import Trail


class Answer(dspy.Module):
    """Answer a question and check the answer."""

    def __init__(self, tools: Tools) -> None:
        """Build the predictor that answers, and the critic of answers."""
        super().__init__()
        self.tools = tools
        self.answer = tools.predictor("answer")
        self.grounding = tools.predictor("grounding")

    def forward(self, trail: Trail, judged: Judged) -> tuple[str, float] | None:
        """Return the ground truth with the probability that the passage supports it; None if a check fails."""
        answer = self._find(trail, judged)
        if answer is None:
            return None
        asked = {"passage": judged.passage, "question": judged.question, "answer": answer}
        grounding = self.tools.decide("grounding", self.grounding, **asked)
        supported, why = grounding.probability, "" if grounding.good else grounding.why
        trail.record(
            "grounding",
            judged.number,
            {"answer": answer},
            probability=supported,
            good=grounding.good,
            reason=why or None,
        )
        if grounding.good:
            return answer, supported
        reason = because(f"answer not supported: {answer!r}", why)
        trail.refuse("grounding", reason, probability=supported, question=judged.question)
        return None

    def _find(self, trail: Trail, judged: Judged) -> str | None:
        """Return the ground truth if the generator finds in the passage what the question asks about."""
        asked = {"topic": judged.contexts[0].topic, "passage": judged.passage, "question": judged.question}
        written = self.tools.write("answer", self.answer, trail.language, **asked)
        meant = judged.focus.answer
        found = tidy_answer(written.answer, judged.question)
        language = self.tools.languages[trail.language]
        kept = ground_truth(judged.question, found, judged.focus, judged.passage, language)
        reason = None
        if not language.is_stated(found):
            reason = f"not found in the passage: {meant!r} was expected"
        elif kept is None:
            reason = f"another answer than expected: {found!r}, not {meant!r}"
        output = {"answer": found, "meant": meant, "agreement": round(agreement(found, meant), 3)}
        trail.record("answer", judged.number, output, good=reason is None, reason=reason)
        if reason:
            trail.refuse("answer", reason, question=judged.question)
        return kept
