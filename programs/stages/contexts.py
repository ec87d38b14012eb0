"""Stage ``contexts``: are the chunks of an attempt fit to be asked about?"""

from collections.abc import Sequence

import dspy

from programs.tools import Tools
from programs.trail import Trail
from programs.types import Context, StepRecord


class Contexts(dspy.Module):
    """Let the critic score every chunk, unless that was done ahead."""

    def __init__(self, tools: Tools) -> None:
        """Take the critic of chunks."""
        super().__init__()
        self.tools = tools
        self.chunk = tools.predictor("chunk")

    def embed_ahead(self, contexts: Sequence[Context]) -> None:
        """Embed together what scoring these chunks will need one by one."""
        self.tools.critics["chunk"].embed_ahead([_inputs(context) for context in contexts])

    def score(self, context: Context) -> StepRecord:
        """Return what the critic says of a chunk."""
        decision = self.tools.decide("chunk", self.chunk, **_inputs(context))
        return StepRecord(
            step="chunk",
            output=decision.as_output(),
            probability=round(decision.probability, 4),
            verdict="good" if decision.good else "bad",
            reason=None if decision.good else decision.refusal,
        )

    def forward(self, trail: Trail) -> bool:
        """Say whether all chunks are good, and refuse the attempt at the first that is not."""
        for context in trail.contexts:
            record = context.score or self.score(context)
            trail.repeat(record)
            if record.reason is not None:
                trail.refuse("chunk", record.reason, probability=record.probability, context=context)
                return False
        return True


def _inputs(context: Context) -> dict[str, str]:
    return {"topic": context.topic, "passage": context.passage}
