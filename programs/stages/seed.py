"""Stage ``seed``: the best question about a chunk that passes every check."""

import dspy

from programs.stages.ask import Ask
from programs.stages.finish import Finish
from programs.stages.judge_and_mend import JudgeAndMend, Judged
from programs.stages.sound import Sound
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Draft, Focus


class Seed(dspy.Module):
    """Ask about the foci of an attempt, and take the best question that the other checks let pass."""

    def __init__(self, tools: Tools, judging: JudgeAndMend, finish: Finish, candidates: int) -> None:
        """Compose the stages; see :class:`Ask` for ``candidates``."""
        super().__init__()
        self.ask = Ask(tools, judging, candidates)
        self.sound = Sound(tools)
        self.finish = finish

    def forward(self, trail: Trail, foci: tuple[Focus, ...]) -> tuple[Judged, Draft] | None:
        """Return the best seed question that passes every step, with its draft."""
        judged = self.ask(trail, foci)
        for each in judged:
            self.ask.judging.refuse(trail, each)
        for each in judged:
            if not each.decision.good or not self._sound(trail, each, foci[each.number]):
                continue
            if (draft := self.finish(trail, each, "simple")) is not None:
                return each, draft
        return None

    def _sound(self, trail: Trail, judged: Judged, asked: Focus) -> bool:
        """Weigh a question; one about an open focus was weighed when it was drawn."""
        return not asked.answer or self.sound(trail, judged.number, judged.focus, judged.question, judged.decision)
