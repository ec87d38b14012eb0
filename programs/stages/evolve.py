"""Stage ``evolve``: evolve a seed question, then judge, rewrite, shorten, compare with the seed, and answer."""

import dspy

from programs.evolutions.base import EVOLVED, Evolution, Evolver
from programs.features import lost_words
from programs.stages.changed import Changed
from programs.stages.finish import Finish
from programs.stages.judge_and_rewrite import JudgeAndRewrite, Judged
from programs.steps.compress import SHORT_WORDS
from programs.steps.question import tidy_question
from programs.text import tokens
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Draft

_TOLERANCE = 5  # words over the limit, because names can be long


class Evolve(dspy.Module):
    """Apply an evolution to a seed question, and check the result."""

    def __init__(self, tools: Tools, judging: JudgeAndRewrite, finish: Finish, *, limited: bool) -> None:
        """Compose the checks; ``limited`` enforces the ``max_words`` of each evolution."""
        super().__init__()
        self.tools = tools
        self.judging = judging
        self.finish = finish
        self.limited = limited
        self.compress = tools.predictor("compress")
        self.changed = Changed(tools)

    def forward(self, trail: Trail, seed: Judged, evolution: Evolution, evolver: Evolver) -> Draft | None:
        """Return the draft of the question that ``evolver`` makes; None if a check fails."""
        evolved = evolver.evolve(trail, seed)
        if evolved is None:
            return None
        judged: Judged = self.judging(trail, EVOLVED, evolved.focus, evolved.question)
        if not judged.decision.good:
            judged = self.judging.rewrite_refused(trail, judged)
        if not judged.decision.good:
            self.judging.refuse(trail, judged)
            return None
        judged = self._shorten(trail, judged, evolution)
        if self._is_too_long(trail, judged, evolution):
            return None
        if not (evolution.keeps_meaning or self.changed(trail, seed.question, judged)):
            return None
        draft: Draft | None = self.finish(trail, judged, evolution.name)
        if draft is None:
            return None
        metadata = {**draft.metadata, "seed_question": seed.question}
        return draft.model_copy(update={"trail": trail.records_of(seed.number, EVOLVED), "metadata": metadata})

    def _shorten(self, trail: Trail, judged: Judged, evolution: Evolution) -> Judged:
        """Return the shortened question if the critic accepts it, else the original."""
        if len(tokens(judged.question)) <= (evolution.max_words if self.limited else SHORT_WORDS):
            return judged
        written = self.tools.write("compress", self.compress, trail.language, question=judged.question)
        shorter = tidy_question(written.short_question)
        trail.record("compress", judged.number, {"question": shorter})
        if not shorter or len(shorter) >= len(judged.question):
            return judged
        if lost_words(judged.question, shorter, self.tools.question_language(trail.language)):
            return judged  # without these words it asks something else
        rejudged: Judged = self.judging(trail, judged.number, judged.focus, shorter)
        return rejudged if rejudged.decision.good else judged

    def _is_too_long(self, trail: Trail, judged: Judged, evolution: Evolution) -> bool:
        words, limit = len(tokens(judged.question)), evolution.max_words
        if not self.limited or words <= limit + _TOLERANCE:
            return False
        trail.refuse(evolution.name, f"{words} words, at most {limit} are wanted", question=judged.question)
        return True
