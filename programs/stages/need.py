"""Stage ``need``: is every chunk of a question needed to answer it?"""

from collections.abc import Sequence

import dspy

from programs.stages.judge_and_rewrite import JudgeAndRewrite, Judged
from programs.text import has_words
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Context

# Set by hand. With words of its own asked of each chunk it lets 86 of 106 gold questions pass that need all their
# chunks, and 12 of 27 written ones that do not.
_LEAST_FALL = 0.05  # of the probability that the question can be answered, when a chunk is left out


class Need(dspy.Module):
    """Refuse a question that some of its chunks would do for.

    Whether it can be answered must become less likely when a chunk is left out, question and answer must hold words
    that only this chunk has, and a name that a chunk describes must not be said, as it may be again after rewriting.
    """

    def __init__(self, tools: Tools, judging: JudgeAndRewrite) -> None:
        """Build the critic of questions."""
        super().__init__()
        self.tools = tools
        self.judging = judging

    def forward(self, trail: Trail, judged: Judged, names: Sequence[str]) -> bool:
        """Return whether every chunk is needed; each of the names is what one of the chunks describes."""
        if said := next((name for name in names if has_words(judged.question, name)), None):
            named = f"it names {said}, which a chunk describes"
            trail.record("needed", judged.number, {"question": judged.question}, good=False, reason=named)
            trail.refuse("needed", named, question=judged.question)
            return False
        whole = judged.decision.probabilities["answerable"]
        output, unneeded = {}, []
        for context in judged.contexts:
            others = tuple(other for other in judged.contexts if other is not context)
            fall = whole - self.judging.decide(judged.question, others).probabilities["answerable"]
            own = self._own_words(judged, context, others)
            output[context.chunk.chunk_id] = {"fall": round(fall, 4), "own words": own}
            if fall < _LEAST_FALL or not own:
                unneeded.append(context)
        reason = f"{len(unneeded)} of {len(judged.contexts)} chunks are not needed" if unneeded else None
        trail.record("needed", judged.number, output, good=reason is None, reason=reason)
        if reason:
            trail.refuse("needed", reason, question=judged.question, context=unneeded[0])
        return reason is None

    def _own_words(self, judged: Judged, context: Context, others: tuple[Context, ...]) -> list[str]:
        language = self.tools.languages[context.language]
        elsewhere = {word for other in others for word in language.content_words(other.passage)}
        own = set(language.content_words(context.passage)) - elsewhere
        asked = language.content_words(f"{judged.question} {judged.focus.answer}")
        return sorted(own.intersection(asked))
