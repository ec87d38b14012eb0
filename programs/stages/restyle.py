"""Stage ``restyle``: reword a finished question by rule, and search for it again."""

import random

import dspy

from programs.evolutions.base import Evolution
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
        question = row.restyle(draft.question, self.tools.languages[trail.language], random.Random(trail.attempt.seed))
        if question is None or question == draft.question:
            trail.refuse(row.name, "the rule has no other wording", question=draft.question)
            return None
        retrieval = self.tools.retriever.rank(question, draft.relevant)
        rank = retrieval.rank
        good = not self.max_rank or (rank is not None and rank <= self.max_rank)
        place = "not found" if rank is None else f"too far: rank {rank}"
        trail.record(row.name, draft.trail[-1].candidate, {"question": question, "rank": rank}, good=good)
        if not good:
            trail.refuse("retrieval", f"source chunk {place}", question=question)
            return None
        return draft.model_copy(
            update={
                "question": question,
                "evolution": row.name,
                "retrieval": retrieval,
                "trail": trail.records_of(draft.trail[-1].candidate),
                "metadata": {**draft.metadata, "seed_question": draft.question},
            }
        )
