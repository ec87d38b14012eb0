"""Stage ``seed``: the best question about a chunk that passes every check."""

import dspy

from programs.modes.base import Asker
from programs.stages.finish import Finish
from programs.stages.judge_and_rewrite import Judged
from programs.trail import Trail
from programs.types import Draft, Focus


class Seed(dspy.Module):
    """Ask about a chunk; keep the best question that passes the other checks."""

    def __init__(self, asker: Asker, finish: Finish) -> None:
        super().__init__()
        self.ask = asker
        self.finish = finish

    def forward(self, trail: Trail, foci: tuple[Focus, ...]) -> tuple[Judged, Draft] | None:
        """Return the best question that passes every check, with its draft."""
        for judged in self.ask.good(trail, foci):
            if (draft := self.finish(trail, judged, "simple")) is not None:
                return judged, draft
        return None
