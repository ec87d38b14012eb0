"""Stage ``need``: check that every chunk of a question is needed to answer it."""

from collections.abc import Sequence
from typing import Any

import dspy

from programs.stages.judge_and_rewrite import JudgeAndRewrite, Judged
from programs.stages.reading import ReadAnswers
from programs.text import has_words
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Context

# Set by hand. With the words check, 86 of 106 gold questions that need all their chunks pass, and 12 of 27 generated
# questions that do not.
_MIN_DROP = 0.05  # in P(answerable), when a chunk is left out


class Need(dspy.Module):
    """Refuse a question that is answerable from a subset of its chunks.

    Removing any chunk must lower P(answerable), and each chunk must contribute words of the question or answer that no
    other chunk has. The question must not contain a name that a chunk describes; a rewrite may have
    reinserted one.
    """

    def __init__(self, tools: Tools, judging: JudgeAndRewrite) -> None:
        super().__init__()
        self.tools = tools
        self.judging = judging

    def forward(self, trail: Trail, judged: Judged, names: Sequence[str]) -> bool:
        """Return whether every chunk is needed; ``names`` are the names that chunks describe."""
        if name := next((name for name in names if has_words(judged.question, name)), None):
            reason = f"it names {name}, which a chunk describes"
            trail.record("needed", judged.number, {"question": judged.question}, good=False, reason=reason)
            trail.refuse("needed", reason, question=judged.question)
            return False
        probability = judged.decision.probabilities["answerable"]
        output, unneeded = {}, []
        for context in judged.contexts:
            others = _without(judged.contexts, context)
            drop = probability - self.judging.decide(judged.question, others).probabilities["answerable"]
            words = self._unique_words(judged, context, others)
            output[context.chunk.chunk_id] = {"fall": round(drop, 4), "own words": words}
            if drop < _MIN_DROP or not words:
                unneeded.append(context)
        failure = _unneeded_reason(len(unneeded), judged) if unneeded else None
        trail.record("needed", judged.number, output, good=failure is None, reason=failure)
        if failure:
            trail.refuse("needed", failure, question=judged.question, context=unneeded[0])
        return failure is None

    def _unique_words(self, judged: Judged, context: Context, others: tuple[Context, ...]) -> list[str]:
        """Return the words of question and answer that only this chunk has."""
        language = self.tools.languages[context.language]
        elsewhere = {word for other in others for word in language.content_words(other.passage)}
        unique = set(language.content_words(context.passage)) - elsewhere
        return sorted(unique.intersection(language.content_words(f"{judged.question} {judged.focus.answer}")))


class NeedByReading(dspy.Module):
    """Drop the chunks that a question does not need; refuse a question that needs too few."""

    def __init__(self, judging: JudgeAndRewrite, reading: ReadAnswers, min_chunks: int) -> None:
        super().__init__()
        self.judging = judging
        self.reading = reading
        self.min_chunks = min_chunks

    def forward(self, trail: Trail, judged: Judged) -> Judged | None:
        """Return a question with the chunks that it needs, judged on these; None if they are too few."""
        kept = judged.contexts
        for context in judged.contexts:
            others = _without(kept, context)
            if not others:
                break
            if not self._is_needed(trail, judged, context, others):
                kept = others
        if len(kept) < self.min_chunks:
            reason = _unneeded_reason(len(judged.contexts) - len(kept), judged)
            trail.refuse("needed", reason, question=judged.question)
            return None
        if kept == judged.contexts:
            return judged
        rejudged: Judged = self.judging(trail, judged.number, judged.focus, judged.question, kept)
        if rejudged.decision.good:
            return rejudged
        self.judging.refuse(trail, rejudged)
        return None

    def _is_needed(self, trail: Trail, judged: Judged, context: Context, others: tuple[Context, ...]) -> bool:
        """Return whether the answer cannot be found in the other chunks.

        A model may guess the same answer from the other chunks, if they mention only one thing that fits. So the
        critic must also decide that they answer the question.
        """
        expected = judged.focus.answer
        found = self.reading.read(trail, judged.question, others, expected)
        needed = found is None or not self.reading.agrees(trail, judged.number, judged.question, expected, found)
        output: dict[str, Any] = {"without": context.chunk.chunk_id, "answer": found}
        if not needed:
            decision = self.judging.decide(judged.question, others)
            output["answerable"] = round(decision.probabilities["answerable"], 4)
            needed = not decision.values["answerable"]
        trail.record("needed", judged.number, output, good=needed)
        return needed


def _without(contexts: tuple[Context, ...], left_out: Context) -> tuple[Context, ...]:
    return tuple(context for context in contexts if context is not left_out)


def _unneeded_reason(count: int, judged: Judged) -> str:
    return f"{count} of {len(judged.contexts)} chunks are not needed"
