"""Stage ``combine``: a model reads several whole passages and writes questions that need all of them."""

from collections.abc import Iterator, Mapping, Sequence

import dspy

from programs.quotes import find_quotes
from programs.stages.finish import Finish
from programs.stages.judge_and_rewrite import JudgeAndRewrite, Judged
from programs.stages.language import is_in_language
from programs.stages.need import NeedByReading, evidence_of
from programs.steps.ask import LENGTHS
from programs.steps.combine import KINDS, numbered
from programs.steps.question import is_none, tidy_question
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Context, Draft, Focus

MULTI = "multi_context"
_STEP = "combine"


class Combine(dspy.Module):
    """Write questions that need all chunks of an attempt; keep the first one that passes every check."""

    def __init__(
        self,
        tools: Tools,
        judging: JudgeAndRewrite,
        finish: Finish,
        *,
        candidates: int,
        answers: str,
        min_chunks: int = 2,
    ) -> None:
        """Compose the stages.

        Args:
            tools: the tools of the run.
            judging: judges the questions.
            finish: runs the remaining checks; its answer stage must be ``AnswerByReading``.
            candidates: how many questions to request.
            answers: how long answers are, a key of ``LENGTHS``.
            min_chunks: fewest chunks that a question must need.
        """
        super().__init__()
        self.tools = tools
        self.judging = judging
        self.finish = finish
        self.candidates = candidates
        self.length = LENGTHS[answers]
        self.min_chunks = min_chunks
        self.combine = tools.predictor(_STEP)
        self.need = NeedByReading(judging, finish.answer, min_chunks)

    def forward(self, trail: Trail) -> Draft | None:
        """Return the draft of the first good question; None if no question is good."""
        for number, focus, contexts, quotes in self._write(trail):
            judged: Judged = self.judging(trail, number, focus, focus.wording, contexts)
            if not judged.decision.good:
                self.judging.refuse(trail, judged)
                continue
            needed = self.need(trail, judged, quotes)
            draft: Draft | None = None if needed is None else self.finish(trail, needed, MULTI)
            if draft is not None:
                return draft
        return None

    def _write(self, trail: Trail) -> Iterator[tuple[int, Focus, tuple[Context, ...], Mapping[str, Sequence[str]]]]:
        """Yield the questions that pass simple checks, with the chunks of their evidence, and the evidence by chunk."""
        first = trail.attempt.number
        kinds = [KINDS[(first + place) % len(KINDS)] for place in range(min(self.candidates, len(KINDS)))]
        written = self.tools.write(
            _STEP,
            self.combine,
            trail.language,
            passages=numbered(trail.contexts),
            asked_already=trail.earlier_questions,
            answers=self.length,
            kinds=kinds,
        ).questions
        for number, candidate in enumerate(written[: self.candidates]):
            question, answer = tidy_question(candidate.question), " ".join(candidate.answer.split())
            kind, evidence = candidate.kind, candidate.evidence
            quotes = quotes_by_chunk(trail.contexts, evidence)
            output = {"question": question, "answer": answer, "evidence": evidence, "kind": kind}
            contexts = tuple(context for context in trail.contexts if quotes and quotes.get(context.chunk.chunk_id))
            reason = None
            if is_none(question):
                reason = "the passages have too little to do with each other"
            elif not question or not answer:
                reason = "no question with an answer was written"
            elif quotes is None:
                reason = "its evidence is not in the passages"
            elif len(contexts) < self.min_chunks:
                reason = f"its evidence lies in {len(contexts)} passage"
            trail.record(_STEP, number, output, good=reason is None, reason=reason)
            if reason is not None or quotes is None:
                trail.refuse(_STEP, str(reason), question=question or None)
                continue
            if not is_in_language(self.tools, trail, question, answer):
                continue
            sentence = evidence_of(contexts, quotes)
            focus = Focus(sentence=sentence, answer=answer, kind=kind or kinds[0], wording=question)
            trail.add_focus(focus)
            yield number, focus, contexts, quotes


def quotes_by_chunk(contexts: tuple[Context, ...], evidence: str) -> dict[str, list[str]] | None:
    """Return the quoted evidence by chunk id; None if a quote is in no chunk."""
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
