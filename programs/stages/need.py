"""Stage ``need``: check that every chunk of a question is needed to answer it."""

from collections.abc import Mapping, Sequence
from typing import Any

import dspy

from programs.stages.answer import AnswerByReading
from programs.stages.judge_and_rewrite import JudgeAndRewrite, Judged
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
    """Drop the chunks that a question does not need; refuse a question that needs too few.

    An answer that was written for all chunks may say more than the kept ones do. It is then replaced by the answer that
    was found in these.
    """

    def __init__(self, judging: JudgeAndRewrite, answer: AnswerByReading, min_chunks: int) -> None:
        super().__init__()
        self.judging = judging
        self.answer = answer
        self.min_chunks = min_chunks

    def forward(self, trail: Trail, judged: Judged, quotes: Mapping[str, Sequence[str]]) -> Judged | None:
        """Return a question with the chunks that it needs, judged on these; None if they are too few.

        ``quotes`` is the evidence by chunk id.
        """
        kept, answer = judged.contexts, judged.focus.answer
        for context in judged.contexts:
            others = _without(kept, context)
            if not others:
                break
            found = self._answer_without(trail, judged, context, others)
            if found is not None:
                kept, answer = others, found
        if len(kept) < self.min_chunks:
            reason = _unneeded_reason(len(judged.contexts) - len(kept), judged)
            trail.refuse("needed", reason, question=judged.question)
            return None
        if kept == judged.contexts:
            return judged
        if self.answer.is_supported(trail, judged, kept):
            answer = judged.focus.answer
        focus = judged.focus.model_copy(update={"sentence": evidence_of(kept, quotes), "answer": answer})
        rejudged: Judged = self.judging(trail, judged.number, focus, judged.question, kept)
        if rejudged.decision.good:
            return rejudged
        self.judging.refuse(trail, rejudged)
        return None

    def _answer_without(
        self, trail: Trail, judged: Judged, context: Context, others: tuple[Context, ...]
    ) -> str | None:
        """Return the answer that is found in the other chunks, None if the chunk is needed.

        A model may guess the same answer from the other chunks, if they mention only one thing that fits. So the
        critic must also decide that they answer the question.
        """
        expected, reading = judged.focus.answer, self.answer.reading
        found = reading.read(trail, judged.question, others, expected)
        needed = found is None or not reading.agrees(trail, judged.number, judged.question, expected, found)
        output: dict[str, Any] = {"without": context.chunk.chunk_id, "answer": found}
        if not needed:
            decision = self.judging.decide(judged.question, others)
            output["answerable"] = round(decision.probabilities["answerable"], 4)
            needed = not decision.values["answerable"]
        trail.record("needed", judged.number, output, good=needed)
        return None if needed else found


def evidence_of(contexts: Sequence[Context], quotes: Mapping[str, Sequence[str]]) -> str:
    """Return the evidence in some chunks as one text; ``quotes`` has the evidence by chunk id."""
    return " ".join(quote for context in contexts for quote in quotes.get(context.chunk.chunk_id, ()))


def _without(contexts: tuple[Context, ...], left_out: Context) -> tuple[Context, ...]:
    return tuple(context for context in contexts if context is not left_out)


def _unneeded_reason(count: int, judged: Judged) -> str:
    return f"{count} of {len(judged.contexts)} chunks {'is' if count == 1 else 'are'} not needed"
