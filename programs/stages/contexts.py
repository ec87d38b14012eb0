"""Stage ``contexts``: are the chunks of an attempt fit to be asked about?"""

from collections.abc import Sequence
from statistics import fmean

import dspy

from programs.deciding import Decision, because
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Context, StepRecord


class Contexts(dspy.Module):
    """Let the critic judge every chunk, unless that was done ahead."""

    def __init__(self, tools: Tools) -> None:
        """Build the critic of chunks."""
        super().__init__()
        self.tools = tools
        self.chunk = tools.predictor("chunk")

    def embed_ahead(self, contexts: Sequence[Context]) -> None:
        """Embed in one batch the texts that scoring these chunks will need."""
        self.tools.critics["chunk"].embed_ahead([_inputs(context) for context in contexts])

    def score(self, context: Context) -> StepRecord:
        """Return what the critic says of a chunk."""
        decision = self.tools.decide("chunk", self.chunk, **_inputs(context))
        reason = self._reason(decision)
        return StepRecord(
            step="chunk",
            output=decision.as_output(),
            probability=round(decision.probability, 4),
            verdict="good" if reason is None else "bad",
            reason=reason,
        )

    def _reason(self, decision: Decision) -> str | None:
        """Return why a chunk is refused, None if it is good; where the critic scores it, the mean counts too."""
        if not decision.good:
            return decision.refusal
        least = self.tools.least_score
        if decision.levels and (mean := fmean(decision.levels.values())) < least:
            return because("scored too low", f"{mean:.2f} of 2 on average, and {least:g} is wanted")
        return None

    def forward(self, trail: Trail) -> bool:
        """Return whether all chunks are good, and refuse the attempt at the first that is not."""
        for context in trail.contexts:
            record = context.score or self.score(context)
            trail.add(record)
            if record.reason is not None:
                trail.refuse("chunk", record.reason, probability=record.probability, context=context)
                return False
        return True


def _inputs(context: Context) -> dict[str, str]:
    return {"topic": context.topic, "passage": context.passage}
