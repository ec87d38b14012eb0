"""Stage ``round trip``: a search for the question must find its source chunks, or equally good alternatives."""

from collections.abc import Sequence
from typing import NamedTuple

import dspy

from programs.deciding import Decision
from programs.stages.judge_and_rewrite import JudgeAndRewrite, Judged
from programs.text import has_words, plain
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Context, Hit, Retrieval

# Set by hand; there are no labels of alternative chunks.
_HITS = 10  # search results considered as alternatives
_MAX_DROP = 0.02  # largest allowed drop in P(answerable) for an alternative chunk


class RoundTripResult(NamedTuple):
    """The relevant chunk ids in groups (any one of a group is enough), and the rank of the question."""

    relevant: tuple[tuple[str, ...], ...]
    retrieval: Retrieval


def rank_refusal(rank: int | None, max_rank: int) -> str | None:
    """Return why a rank is refused, None if it is accepted; ``max_rank`` 0 accepts every rank."""
    if not max_rank or (rank is not None and rank <= max_rank):
        return None
    return "source chunk not found" if rank is None else f"source chunk too far: rank {rank}"


class RoundTrip(dspy.Module):
    """Refuse questions whose chunks are ranked too low.

    A chunk is an alternative to a source chunk if it has all words of question and answer that only this source chunk
    has, and the critic finds the question as answerable with it.
    """

    def __init__(self, tools: Tools, judging: JudgeAndRewrite, max_rank: int) -> None:
        """Accept ranks up to ``max_rank``; 0 accepts and records every rank."""
        super().__init__()
        self.tools = tools
        self.judging = judging
        self.max_rank = max_rank

    def forward(self, trail: Trail, judged: Judged) -> RoundTripResult | None:
        """Return the relevant chunks and the rank of a question; None if the rank is too low."""
        result = self._search(trail, judged)
        if reason := rank_refusal(result.retrieval.rank, self.max_rank):
            trail.refuse("retrieval", reason, question=judged.question)
            return None
        return result

    def _search(self, trail: Trail, judged: Judged) -> RoundTripResult:
        sources = {context.chunk.chunk_id for context in judged.contexts}
        hits = self.tools.retriever.search(judged.question, _HITS)
        others = [hit for hit in hits if hit.chunk_id not in sources]
        groups = tuple(
            (context.chunk.chunk_id, *self._alternatives(others, context, judged)) for context in judged.contexts
        )
        if all(len(group) == 1 for group in groups):
            return RoundTripResult(groups, judged.retrieval)
        retrieval = self.tools.retriever.rank(judged.question, groups)
        output = {"groups": groups, "rank": retrieval.rank, "rank without": judged.retrieval.rank}
        trail.record("alternatives", judged.number, output)
        return RoundTripResult(groups, retrieval)

    def _alternatives(self, hits: Sequence[Hit], context: Context, judged: Judged) -> list[str]:
        """Return the ids of the hits that can replace a context."""
        words = self.tools.languages[context.language].content_words
        answer = judged.focus.answer
        others = tuple(other for other in judged.contexts if other is not context)
        needed = {*words(f"{judged.question} {answer}")}.difference(*(words(other.passage) for other in others))
        needed &= set(words(context.passage))
        if not needed:
            return []
        found, stated = [], has_words(context.passage, answer)
        for hit in hits:
            passage = plain(hit.text)
            if stated and not has_words(passage, answer):
                continue
            if needed <= set(words(passage)):
                alternative = context.model_copy(update={"passage": passage, "topic": hit.topic})
                if _is_as_good(self.judging.decide(judged.question, (*others, alternative)), judged):
                    found.append(hit.chunk_id)
        return found


def _is_as_good(decision: Decision, judged: Judged) -> bool:
    least = judged.decision.probabilities["answerable"] - _MAX_DROP
    return decision.good and decision.probabilities["answerable"] >= least
