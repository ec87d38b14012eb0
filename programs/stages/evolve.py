"""Stage ``evolve``: a seed question made harder, judged, rewritten, shortened, compared with the seed and answered."""

import dspy

from programs.deciding import because
from programs.evolutions.base import EVOLVED, Evolution, Evolving
from programs.features import lost_words
from programs.stages.finish import Finish
from programs.stages.judge_and_rewrite import JudgeAndRewrite, Judged
from programs.steps.compress import SHORT_WORDS
from programs.steps.question import tidy_question
from programs.text import tokens
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Draft

_TOLERATED = 5  # words over the limit: names are long


class Evolve(dspy.Module):
    """Take a seed question through an evolution and every check that follows."""

    def __init__(self, tools: Tools, judging: JudgeAndRewrite, finish: Finish, *, limited: bool) -> None:
        """Compose the checks; ``limited`` says whether a question must keep to the words that its row allows."""
        super().__init__()
        self.tools = tools
        self.judging = judging
        self.finish = finish
        self.limited = limited
        self.compress = tools.predictor("compress")
        self.same = tools.predictor("same")

    def forward(self, trail: Trail, seed: Judged, row: Evolution, evolving: Evolving) -> Draft | None:
        """Return the draft of a question evolved as a row says, None if a check fails; ``evolving`` makes it."""
        evolved = evolving.evolve(trail, seed)
        if evolved is None:
            return None
        judged: Judged = self.judging(trail, EVOLVED, evolved.focus, evolved.question)
        if not judged.decision.good:
            judged = self.judging.rewrite_refused(trail, judged)
        if not judged.decision.good:
            self.judging.refuse(trail, judged)
            return None
        judged = self._shorten(trail, judged, row)
        if self._is_too_long(trail, judged, row) or not (row.keeps_meaning or self._changed(trail, seed, judged)):
            return None
        draft: Draft | None = self.finish(trail, judged, row.name)
        if draft is None:
            return None
        metadata = {**draft.metadata, "seed_question": seed.question}
        return draft.model_copy(update={"trail": trail.records_of(seed.number, EVOLVED), "metadata": metadata})

    def _shorten(self, trail: Trail, judged: Judged, row: Evolution) -> Judged:
        """Return the shorter question if the critic lets it pass, else the longer one."""
        if len(tokens(judged.question)) <= (row.most_words if self.limited else SHORT_WORDS):
            return judged
        written = self.tools.write("compress", self.compress, trail.language, question=judged.question)
        shorter = tidy_question(written.short_question)
        trail.record("compress", judged.number, {"question": shorter})
        if not shorter or len(shorter) >= len(judged.question):
            return judged
        if lost_words(judged.question, shorter, self.tools.languages[trail.language]):
            return judged  # it asks something else: what told the thing that is meant from others is gone
        again = self.judging(trail, judged.number, judged.focus, shorter)
        return again if again.decision.good else judged

    def _is_too_long(self, trail: Trail, judged: Judged, row: Evolution) -> bool:
        words = len(tokens(judged.question))
        if not self.limited or words <= row.most_words + _TOLERATED:
            return False
        trail.refuse(row.name, f"{words} words, at most {row.most_words} are wanted", question=judged.question)
        return True

    def _changed(self, trail: Trail, seed: Judged, judged: Judged) -> bool:
        decision = self.tools.decide("same", self.same, first=seed.question, second=judged.question)
        changed = not decision.values["same"]
        probability = 1 - decision.probabilities["same"]
        reason = None if changed else because("the evolution changed nothing", decision.why)
        trail.record("same", judged.number, decision.as_output(), probability=probability, good=changed, reason=reason)
        if reason:
            trail.refuse("same", reason, probability=probability, question=judged.question)
        return changed
