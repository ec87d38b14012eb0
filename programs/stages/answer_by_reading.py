"""Stage ``answer`` where a model asks freely: its answer stands if a reader of the passage comes to the same one."""

import dspy

from programs.deciding import because
from programs.stages.judge_and_rewrite import Judged, seen_by
from programs.stages.reading import ReadAnswers
from programs.tools import Tools
from programs.trail import Trail


class AnswerByReading(dspy.Module):
    """Check the answer that came with a question."""

    def __init__(self, tools: Tools) -> None:
        """Build the stage that reads, and the critic of answers."""
        super().__init__()
        self.tools = tools
        self.reading = ReadAnswers(tools)
        self.grounding = tools.predictor("grounding")

    def forward(self, trail: Trail, judged: Judged) -> tuple[str, float] | None:
        """Return the answer with the probability that the passage supports all of it; None if a check fails."""
        meant = judged.focus.answer
        found = self.reading.read(trail, judged.question, judged.contexts, meant)
        reason = None
        if found is None:
            reason = f"not found in the passage: {meant!r} was expected"
        elif not self.reading.agrees(trail, judged.number, judged.question, meant, found):
            reason = f"another answer than expected: {found!r}, not {meant!r}"
        trail.record("answer", judged.number, {"answer": found, "meant": meant}, good=reason is None, reason=reason)
        if reason:
            trail.refuse("answer", reason, question=judged.question)
            return None
        supported = self._supported(trail, judged, meant)
        return None if supported is None else (meant, supported)

    def _supported(self, trail: Trail, judged: Judged, answer: str) -> float | None:
        """Return the least probability that the passage supports a part of an answer; None if one is refused.

        A critic that reads weighs the whole answer, which it must not find incomplete; any other one each sentence.
        """
        critic = self.tools.critics["grounding"]
        whole, passage = getattr(critic, "reads", False), seen_by(critic, judged.contexts)
        parts = [answer] if whole else self.tools.languages[trail.language].sentences(answer) or [answer]
        least = 1.0
        for part in parts:
            asked = {"passage": passage, "question": judged.question, "answer": part}
            decision = self.tools.decide("grounding", self.grounding, **asked)
            least = min(least, decision.probability)
            reason = None if decision.good else because(f"answer not supported: {part!r}", decision.why)
            output = {"answer": part}
            trail.record(
                "grounding",
                judged.number,
                output,
                probability=decision.probability,
                good=decision.good,
                reason=reason,
            )
            if reason is not None:
                trail.refuse("grounding", reason, probability=decision.probability, question=judged.question)
                return None
        return least
