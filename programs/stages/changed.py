"""Stage ``changed``: a question must not ask the same as its seed."""

import dspy

from programs.deciding import with_reason
from programs.stages.judge_and_rewrite import Judged
from programs.tools import Tools
from programs.trail import Trail


class Changed(dspy.Module):
    """Refuse a question that asks the same as its seed."""

    def __init__(self, tools: Tools) -> None:
        super().__init__()
        self.tools = tools
        self.same = tools.predictor("same")

    def forward(self, trail: Trail, seed: str, judged: Judged) -> bool:
        """Return whether a question asks something else than its seed question."""
        decision = self.tools.decide("same", self.same, first=seed, second=judged.question)
        changed = not decision.values["same"]
        probability = 1 - decision.probabilities["same"]
        reason = None if changed else with_reason("the evolution changed nothing", decision.reason)
        output = decision.as_output()
        return trail.check("same", judged.number, output, reason, probability=probability, question=judged.question)
