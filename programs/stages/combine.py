"""Stage ``combine``: a question about several passages that a model read whole."""

from collections.abc import Iterator

import dspy

from programs.quotes import find_quotes
from programs.stages.finish import Finish
from programs.stages.judge_and_rewrite import JudgeAndRewrite, Judged
from programs.stages.need_by_reading import NeedByReading
from programs.steps.ask import LENGTHS
from programs.steps.combine import KINDS, numbered
from programs.steps.question import is_none, tidy_question
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Context, Draft, Focus

MULTI = "multi_context"
_STEP = "combine"


class Combine(dspy.Module):
    """Write questions that need all chunks of an attempt, and take the first that passes every check."""

    def __init__(
        self, tools: Tools, judging: JudgeAndRewrite, finish: Finish, *, candidates: int, answers: str, fewest: int = 2
    ) -> None:
        """Compose the stages.

        Args:
            tools: what writes.
            judging: judges the questions.
            finish: the checks that are left; it answers by reading.
            candidates: questions asked for.
            answers: how long answers are, a key of ``LENGTHS``.
            fewest: chunks that a question must need.
        """
        super().__init__()
        self.tools = tools
        self.judging = judging
        self.finish = finish
        self.candidates = candidates
        self.length = LENGTHS[answers]
        self.fewest = fewest
        self.combine = tools.predictor(_STEP)
        self.need = NeedByReading(judging, finish.answer.reading, fewest)

    def forward(self, trail: Trail) -> Draft | None:
        """Return the draft of the first good question, None if there is none."""
        for number, focus, contexts in self._written(trail):
            judged: Judged = self.judging(trail, number, focus, focus.wording, contexts)
            if not judged.decision.good:
                self.judging.refuse(trail, judged)
                continue
            needed = self.need(trail, judged)
            draft: Draft | None = None if needed is None else self.finish(trail, needed, MULTI)
            if draft is not None:
                return draft
        return None

    def _written(self, trail: Trail) -> Iterator[tuple[int, Focus, tuple[Context, ...]]]:
        """Yield what was written, with the chunks that hold its evidence."""
        first = trail.attempt.number
        kinds = [KINDS[(first + place) % len(KINDS)] for place in range(min(self.candidates, len(KINDS)))]
        written = self.tools.write(
            _STEP,
            self.combine,
            trail.language,
            passages=numbered(trail.contexts),
            asked_already=[focus.wording for focus in trail.attempt.asked if focus.wording],
            answers=self.length,
            kinds=kinds,
        ).questions
        for number, each in enumerate(written[: self.candidates]):
            question, answer = tidy_question(each.question), " ".join(each.answer.split())
            pieces = _found(trail.contexts, each.evidence)
            output = {"question": question, "answer": answer, "evidence": each.evidence, "kind": each.kind}
            contexts = tuple(context for context in trail.contexts if pieces and pieces.get(context.chunk.chunk_id))
            reason = None
            if is_none(question):
                reason = "the passages have too little to do with each other"
            elif not question or not answer:
                reason = "no question with an answer was written"
            elif pieces is None:
                reason = "its evidence is not in the passages"
            elif len(contexts) < self.fewest:
                reason = f"its evidence lies in {len(contexts)} passage"
            trail.record(_STEP, number, output, good=reason is None, reason=reason)
            if reason is not None or pieces is None:
                trail.refuse(_STEP, str(reason), question=question or None)
                continue
            words = " ".join(piece for context in contexts for piece in pieces[context.chunk.chunk_id])
            focus = Focus(sentence=words, answer=answer, kind=each.kind or kinds[0], wording=question)
            trail.add_focus(focus)
            yield number, focus, contexts


def _found(contexts: tuple[Context, ...], evidence: str) -> dict[str, list[str]] | None:
    """Return the pieces of evidence by the chunk that holds them, None if one is in no chunk."""
    found: dict[str, list[str]] = {}
    for piece in evidence.split("|"):
        if not piece.strip():
            continue
        for context in contexts:
            if (words := find_quotes(context.passage, piece)) is not None:
                found.setdefault(context.chunk.chunk_id, []).extend(words)
                break
        else:
            return None
    return found or None
