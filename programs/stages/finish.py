"""Stage ``finish``: round trip and answer, and the draft of a question that passed both."""

from typing import Any

import dspy

from programs.features import kind_of
from programs.stages.judge_and_rewrite import JudgeAndRewrite, Judged
from programs.stages.round_trip import RoundTrip
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Draft


class Finish(dspy.Module):
    """Take a good question through the checks that are left."""

    def __init__(self, tools: Tools, judging: JudgeAndRewrite, answering: Any, max_rank: int) -> None:
        """Compose the checks; ``answering`` is the stage that finds and checks answers, for ``max_rank`` see
        :class:`RoundTrip`.
        """
        super().__init__()
        self.round_trip = RoundTrip(tools, judging, max_rank)
        self.answer = answering
        self.tools = tools

    def forward(self, trail: Trail, judged: Judged, evolution: str) -> Draft | None:
        """Return the draft of a question, None if a check fails."""
        found = self.round_trip(trail, judged)
        if found is None:
            return None
        answered = self.answer(trail, judged)
        if answered is None:
            return None
        answer, supported = answered
        return Draft(
            question=judged.question,
            answer=answer,
            evolution=evolution,
            contexts=tuple(context.chunk for context in judged.contexts),
            relevant=found.relevant,
            retrieval=found.retrieval,
            probability=round(min(judged.decision.probability, supported), 4),
            trail=trail.records_of(judged.number),
            metadata={
                "focus": judged.focus.sentence,
                "kind": judged.focus.kind
                or kind_of(judged.question, judged.focus, self.tools.languages[trail.language]),
                "source_rank": judged.retrieval.rank,
            },
        )
