"""Stage ``finish``: check the round trip and the answer of a good question, and build its draft."""

from typing import Any

import dspy

from programs.features import kind_of
from programs.stages.judge_and_rewrite import JudgeAndRewrite, Judged
from programs.stages.language import is_in_language
from programs.stages.panel import Panel
from programs.stages.round_trip import RoundTrip
from programs.stages.vary import Vary
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Draft


class Finish(dspy.Module):
    """Run the remaining checks on a good question."""

    def __init__(self, tools: Tools, judging: JudgeAndRewrite, answer: Any, max_rank: int, variants: int = 0) -> None:
        """Compose the checks.

        Args:
            tools: the tools of the run.
            judging: judges alternative chunks.
            answer: the answer stage.
            max_rank: see :class:`RoundTrip`.
            variants: how many other wordings of the answer to write.
        """
        super().__init__()
        self.round_trip = RoundTrip(tools, judging, max_rank)
        self.answer = answer
        self.panel = Panel(tools)
        self.vary = Vary(tools, variants) if variants else None
        self.tools = tools

    def forward(self, trail: Trail, judged: Judged, evolution: str) -> Draft | None:
        """Return the draft of a question; None if a check fails."""
        if not is_in_language(self.tools, trail, judged.question, judged.focus.answer):
            return None  # it was rewritten or shortened since
        result = self.round_trip(trail, judged)
        if result is None:
            return None
        answered = self.answer(trail, judged)
        if answered is None:
            return None
        answer, probability = answered
        approval = self.panel(trail, judged, answer)
        if approval is None:
            return None
        variants = self.vary(trail, judged, answer) if self.vary else []
        language = self.tools.question_language(trail.language)
        return Draft(
            question=judged.question,
            answer=answer,
            evolution=evolution,
            contexts=tuple(context.chunk for context in judged.contexts),
            relevant=result.relevant,
            retrieval=result.retrieval,
            probability=round(min(judged.decision.probability, probability, approval), 4),
            trail=trail.records_of(judged.number),
            metadata={
                "focus": judged.focus.sentence,
                "kind": judged.focus.kind or kind_of(judged.question, judged.focus, language),
                "source_rank": judged.retrieval.rank,
                **({"answer_variants": variants} if variants else {}),
            },
        )
