"""Stage ``round trip``: a question must find its own chunks again by search, or others that do just as well."""

from collections.abc import Sequence
from typing import NamedTuple

import dspy

from programs.deciding import Decision
from programs.stages.judge_and_rewrite import JudgeAndRewrite, Judged
from programs.text import has_words, plain
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Context, Hit, Retrieval

# Set by hand; no labels of chunks that do just as well exist.
_LOOKED_AT = 10  # of the chunks that a search finds first
_LESS_LIKELY = 0.02  # so much less answerable may a question be from a chunk that does just as well


class Placed(NamedTuple):
    """Where a question finds its chunks: groups of ids, any one of a group will do, and the round trip."""

    relevant: tuple[tuple[str, ...], ...]
    retrieval: Retrieval


class RoundTrip(dspy.Module):
    """Refuse questions that find their chunks too late.

    Another chunk does just as well as one of the question's own if it holds all words of question and answer that the
    own chunk alone has, and the critic finds the question as answerable with it.
    """

    def __init__(self, tools: Tools, judging: JudgeAndRewrite, max_rank: int) -> None:
        """Accept ranks up to ``max_rank``; 0 records ranks and refuses none."""
        super().__init__()
        self.tools = tools
        self.judging = judging
        self.max_rank = max_rank

    def forward(self, trail: Trail, judged: Judged) -> Placed | None:
        """Return where a question finds its chunks, None if it does not find them early enough."""
        found = self._found(trail, judged)
        rank = found.retrieval.rank
        if not self.max_rank or (rank is not None and rank <= self.max_rank):
            return found
        place = "not found" if rank is None else f"too far: rank {rank}"
        trail.refuse("retrieval", f"source chunk {place}", question=judged.question)
        return None

    def _found(self, trail: Trail, judged: Judged) -> Placed:
        own = {context.chunk.chunk_id for context in judged.contexts}
        hits = self.tools.retriever.search(judged.question, _LOOKED_AT)
        others = [hit for hit in hits if hit.chunk_id not in own]
        groups = tuple(
            (context.chunk.chunk_id, *self._alternatives(others, context, judged)) for context in judged.contexts
        )
        if all(len(group) == 1 for group in groups):
            return Placed(groups, judged.retrieval)
        retrieval = self.tools.retriever.rank(judged.question, groups)
        said = {"groups": groups, "rank": retrieval.rank, "rank without": judged.retrieval.rank}
        trail.record("alternatives", judged.number, said)
        return Placed(groups, retrieval)

    def _alternatives(self, hits: Sequence[Hit], context: Context, judged: Judged) -> list[str]:
        """Return the ids of those hits that do as well as a context."""
        words = self.tools.languages[context.language].content_words
        answer = judged.focus.answer
        others = tuple(other for other in judged.contexts if other is not context)
        asked = {*words(f"{judged.question} {answer}")}.difference(*(words(other.passage) for other in others))
        own = asked & set(words(context.passage))
        if not own:
            return []
        found, stated = [], has_words(context.passage, answer)
        for hit in hits:
            passage = plain(hit.text)
            if stated and not has_words(passage, answer):
                continue
            if own <= set(words(passage)):
                instead = context.model_copy(update={"passage": passage})
                if self._is_as_good(self.judging.decide(judged.question, (*others, instead)), judged):
                    found.append(hit.chunk_id)
        return found

    @staticmethod
    def _is_as_good(decision: Decision, judged: Judged) -> bool:
        least = judged.decision.probabilities["answerable"] - _LESS_LIKELY
        return decision.good and decision.probabilities["answerable"] >= least
