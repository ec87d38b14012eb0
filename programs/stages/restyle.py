"""Stage ``restyle``: reword a finished question by rule, and search for it again."""

import random

import dspy

from programs.evolutions.base import Evolution
from programs.stages.round_trip import rank_refusal
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Draft


class Restyle(dspy.Module):
    """Reword the question of a draft and keep its answer, since a rule does not change what is asked for."""

    def __init__(self, tools: Tools, max_rank: int) -> None:
        """Accept ranks up to ``max_rank``; 0 records ranks and refuses none."""
        super().__init__()
        self.tools = tools
        self.max_rank = max_rank

    def forward(self, trail: Trail, draft: Draft, row: Evolution) -> Draft | None:
        """Return the reworded draft; None if the rule has no other wording or its chunk is ranked too low."""
        if row.restyle is None:
            raise ValueError(f"{row.name} has no rule")
        question = row.restyle(
            draft.question, self.tools.question_language(trail.language), random.Random(trail.attempt.seed)
        )
        if question is None or question == draft.question:
            trail.refuse(row.name, "the rule has no other wording", question=draft.question)
            return None
        retrieval = self.tools.retriever.rank(question, draft.relevant)
        reason, candidate = rank_refusal(retrieval.rank, self.max_rank), draft.trail[-1].candidate
        trail.record(row.name, candidate, {"question": question, "rank": retrieval.rank}, good=reason is None)
        if reason is not None:
            trail.refuse("retrieval", reason, question=question)
            return None
        return draft.model_copy(
            update={
                "question": question,
                "evolution": row.name,
                "retrieval": retrieval,
                "trail": trail.records_of(candidate),
                "metadata": {**draft.metadata, "seed_question": draft.question},
            }
        )
