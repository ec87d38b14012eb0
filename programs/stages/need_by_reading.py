"""Stage ``needed`` where a model asks freely: a chunk is needed if nobody finds the answer without it."""

import dspy

from programs.stages.judge_and_mend import JudgeAndMend, Judged
from programs.stages.reading import ReadAnswers
from programs.trail import Trail


class NeedByReading(dspy.Module):
    """Drop chunks that a question does not need, and refuse one that needs fewer than it must."""

    def __init__(self, judging: JudgeAndMend, reading: ReadAnswers, fewest: int) -> None:
        """Keep questions that need ``fewest`` chunks or more."""
        super().__init__()
        self.judging = judging
        self.reading = reading
        self.fewest = fewest

    def forward(self, trail: Trail, judged: Judged) -> Judged | None:
        """Return a question with the chunks that it needs, judged on these; None if they are too few."""
        kept, meant = judged.contexts, judged.focus.answer
        for context in judged.contexts:
            others = tuple(other for other in kept if other is not context)
            if not others:
                break
            found = self.reading.read(trail, judged.question, others, meant)
            needed = found is None or not self.reading.agrees(trail, judged.number, judged.question, meant, found)
            told = {"without": context.chunk.chunk_id, "answer": found}
            trail.say("needed", judged.number, told, good=needed)
            if not needed:
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
