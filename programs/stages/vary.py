"""Stage ``vary``: other wordings of an answer that the critics find to be the same and supported."""

import dspy

from programs.deciding import with_reason
from programs.stages.contexts import critic_passage
from programs.stages.judge_and_rewrite import Judged
from programs.steps.vary import STEP, wording_problem, wordings_of
from programs.tools import Tools
from programs.trail import Trail


class Vary(dspy.Module):
    """Write up to ``count`` other wordings of an answer, and keep those that pass the checks."""

    def __init__(self, tools: Tools, count: int) -> None:
        super().__init__()
        self.tools = tools
        self.count = count
        self.vary = tools.predictor(STEP.name)
        self.agree = tools.predictor("agree")
        self.grounding = tools.predictor("grounding")

    def forward(self, trail: Trail, judged: Judged, answer: str) -> list[str]:
        """Return the wordings that are kept, and record why the others are not."""
        inputs = {"question": judged.question, "answer": answer, "count": self.count}
        written = self.tools.write(STEP.name, self.vary, trail.language, **inputs).wordings
        kept = []
        for wording in wordings_of(written, self.count):
            reason = self._problem(trail, judged, answer, wording)
            trail.record(STEP.name, judged.number, {"wording": wording}, good=reason is None, reason=reason)
            if reason is None:
                kept.append(wording)
        return kept

    def _problem(self, trail: Trail, judged: Judged, answer: str, wording: str) -> str | None:
        """Return why a wording is not kept, None if it is."""
        language = self.tools.question_language(trail.language)
        if problem := wording_problem(wording, judged.question, answer, judged.passage, language):
            return problem
        same = self.tools.decide("agree", self.agree, question=judged.question, first=answer, second=wording)
        if not same.good:
            return with_reason("not the same answer", same.reason)
        passage = critic_passage(self.tools.critics["grounding"], judged.contexts)
        supported = self.tools.decide(
            "grounding", self.grounding, passage=passage, question=judged.question, answer=wording
        )
        return None if supported.good else with_reason("not supported by the passage", supported.reason)
