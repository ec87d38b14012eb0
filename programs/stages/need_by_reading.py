"""Stage ``needed`` where a model asks freely: a chunk is needed if nobody finds the answer without it."""

from typing import Any

import dspy

from programs.stages.judge_and_rewrite import JudgeAndRewrite, Judged
from programs.stages.reading import ReadAnswers
from programs.trail import Trail
from programs.types import Context


class NeedByReading(dspy.Module):
    """Drop chunks that a question does not need, and refuse one that needs fewer than it must."""

    def __init__(self, judging: JudgeAndRewrite, reading: ReadAnswers, fewest: int) -> None:
        """Keep questions that need ``fewest`` chunks or more."""
        super().__init__()
        self.judging = judging
        self.reading = reading
        self.fewest = fewest

    def forward(self, trail: Trail, judged: Judged) -> Judged | None:
        """Return a question with the chunks that it needs, judged on these; None if they are too few."""
        kept = judged.contexts
        for context in judged.contexts:
            others = tuple(other for other in kept if other is not context)
            if not others:
                break
            if not self._is_needed(trail, judged, context, others):
                kept = others
        if len(kept) < self.fewest:
            reason = f"{len(judged.contexts) - len(kept)} of {len(judged.contexts)} chunks are not needed"
            trail.refuse("needed", reason, question=judged.question)
            return None
        if kept == judged.contexts:
            return judged
        again: Judged = self.judging(trail, judged.number, judged.focus, judged.question, kept)
        if again.decision.good:
            return again
        self.judging.refuse(trail, again)
        return None

    def _is_needed(self, trail: Trail, judged: Judged, context: Context, others: tuple[Context, ...]) -> bool:
        """Return whether the answer is not to be had from the other chunks.

        A reader who finds the same answer there may have guessed: of a thing that the question describes he sees only
        one that it could be. So the critic must find, too, that these chunks alone answer the question.
        """
        meant, output = judged.focus.answer, "answerable"
        found = self.reading.read(trail, judged.question, others, meant)
        needed = found is None or not self.reading.agrees(trail, judged.number, judged.question, meant, found)
        record: dict[str, Any] = {"without": context.chunk.chunk_id, "answer": found}
        if not needed:
            decision = self.judging.decide(judged.question, others)
            record[output] = round(decision.probabilities[output], 4)
            needed = not decision.values[output]
        trail.record("needed", judged.number, record, good=needed)
        return needed
