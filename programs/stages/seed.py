"""Stage ``seed``: the best question about a chunk that passes every check."""

import dspy

from programs.modes.base import Asker
from programs.stages.finish import Finish
from programs.stages.judge_and_rewrite import Judged
from programs.trail import Trail
from programs.types import Draft, Focus


class Seed(dspy.Module):
    """Ask about a chunk, and take the best question that the other checks let pass."""

    def __init__(self, asker: Asker, finish: Finish) -> None:
        """Compose the stages."""
        super().__init__()
        self.ask = asker
        self.finish = finish

    def forward(self, trail: Trail, foci: tuple[Focus, ...]) -> tuple[Judged, Draft] | None:
        """Return the best seed question that passes every step, with its draft."""
        for each in self.ask.good(trail, foci):
            if (draft := self.finish(trail, each, "simple")) is not None:
                return each, draft
        return None
