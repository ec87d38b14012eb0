"""Stage ``round trip``: a question must find its own chunks again by search."""

import dspy

from programs.stages.judge_and_mend import Judged
from programs.tools import Tools
from programs.trail import Trail


class RoundTrip(dspy.Module):
    """Refuse questions that find their chunks too late."""

    def __init__(self, tools: Tools, max_rank: int) -> None:
        """Accept ranks up to ``max_rank``; 0 records ranks and refuses none."""
        super().__init__()
        self.tools = tools
        self.max_rank = max_rank

    def forward(self, trail: Trail, judged: Judged) -> bool:
        """Say whether a question finds all its chunks."""
        rank = judged.retrieval.rank
        if not self.max_rank or (rank is not None and rank <= self.max_rank):
            return True
        place = "not found" if rank is None else f"too far: rank {rank}"
        trail.refuse("retrieval", f"source chunk {place}", question=judged.question)
        return False
