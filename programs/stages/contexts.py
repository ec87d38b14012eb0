"""Stage ``contexts``: check that the chunks of an attempt are usable; and how prompts and critics show chunks."""

from collections.abc import Sequence
from statistics import fmean
from typing import Any

import dspy

from programs.deciding import Decision, with_reason
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Context, StepRecord


class Contexts(dspy.Module):
    """Let the critic judge every chunk that has no score yet."""

    def __init__(self, tools: Tools) -> None:
        super().__init__()
        self.tools = tools
        self.chunk = tools.predictor("chunk")

    def embed_ahead(self, contexts: Sequence[Context]) -> None:
        """Embed in one batch the texts needed to score these chunks."""
        self.tools.critics["chunk"].embed_ahead([_inputs(context) for context in contexts])

    def score(self, context: Context) -> StepRecord:
        """Return the critic's decision on a chunk."""
        decision = self.tools.decide("chunk", self.chunk, **_inputs(context))
        reason = self._refusal(decision)
        return StepRecord(
            step="chunk",
            output=decision.as_output(),
            probability=round(decision.probability, 4),
            verdict="good" if reason is None else "bad",
            reason=reason,
        )

    def _refusal(self, decision: Decision) -> str | None:
        """Return why a chunk is refused, None if it is good; a low mean of its scores refuses it too."""
        if not decision.good:
            return decision.refusal
        least = self.tools.least_score
        if decision.levels and (mean := fmean(decision.levels.values())) < least:
            return with_reason("scored too low", f"{mean:.2f} of 2 on average, and {least:g} is wanted")
        return None

    def forward(self, trail: Trail) -> bool:
        """Return whether all chunks are good; refuse the attempt at the first one that is not."""
        for context in trail.contexts:
            record = context.score or self.score(context)
            trail.add(record)
            if record.reason is not None:
                trail.refuse("chunk", record.reason, probability=record.probability, context=context)
                return False
        return True


def _inputs(context: Context) -> dict[str, str]:
    return {"topic": context.topic, "passage": context.passage}


def passage_of(contexts: Sequence[Context]) -> str:
    """Return the passages of contexts as one text."""
    return "\n\n".join(context.passage for context in contexts)


def is_llm_judge(critic: Any) -> bool:
    """Return whether a critic is a language model that reads the whole text and gives reasons."""
    return getattr(critic, "is_llm_judge", False)


def critic_passage(critic: Any, contexts: Sequence[Context]) -> str:
    """Return contexts as a critic sees them: for an LLM judge, each passage under its title and headings.

    Questions may use names that occur only in title and headings, which their writer saw.
    """
    if not is_llm_judge(critic):
        return passage_of(contexts)
    return "\n\n".join(f"[{context.topic}]\n{context.passage}" for context in contexts)


def relevant_groups(contexts: Sequence[Context]) -> tuple[tuple[str, ...], ...]:
    """Return the chunk ids of contexts, each in a group of its own."""
    return tuple((context.chunk.chunk_id,) for context in contexts)
