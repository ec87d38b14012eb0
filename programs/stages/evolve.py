"""Stage ``evolve``: a seed question made harder, judged, mended, shortened, compared with the seed and answered."""

import dspy

from programs.evidence import lost_words
from programs.evolutions.base import EVOLVED, Evolution
from programs.stages.finish import Finish
from programs.stages.judge_and_mend import JudgeAndMend, Judged
from programs.steps.compress import SHORT_WORDS
from programs.steps.question import tidy_question
from programs.text import tokens
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Draft


class Evolve(dspy.Module):
    """Take a seed question through an evolution and every check that follows."""

    def __init__(self, tools: Tools, judging: JudgeAndMend, finish: Finish) -> None:
        """Compose the checks."""
        super().__init__()
        self.tools = tools
        self.judging = judging
        self.finish = finish
        self.compress = tools.predictor("compress")
        self.same = tools.predictor("same")

    def forward(self, trail: Trail, seed: Judged, evolution: Evolution) -> Draft | None:
        """Return the draft of the evolved question, None if a check fails."""
        question = evolution.evolve(trail, seed)
        if question is None:
            return None
        judged = self.judging(trail, EVOLVED, seed.focus, question)
        if not judged.decision.good:
            judged = self.judging.mend(trail, judged)
        if not judged.decision.good:
            self.judging.refuse(trail, judged)
            return None
        judged = self._shorten(trail, judged)
        if not self._changed(trail, seed, judged):
            return None
        draft: Draft | None = self.finish(trail, judged, trail.attempt.wanted)
        if draft is None:
            return None
        metadata = {**draft.metadata, "seed_question": seed.question}
        return draft.model_copy(update={"trail": trail.of(seed.number, EVOLVED), "metadata": metadata})

    def _shorten(self, trail: Trail, judged: Judged) -> Judged:
        """Return the shorter question if the critic lets it pass, else the longer one."""
        if len(tokens(judged.question)) <= SHORT_WORDS:
            return judged
        written = self.tools.write("compress", self.compress, trail.language, question=judged.question)
        shorter = tidy_question(written.short_question)
        trail.say("compress", judged.number, {"question": shorter})
        if not shorter or len(shorter) >= len(judged.question):
            return judged
        if lost_words(judged.question, shorter, self.tools.languages[trail.language]):
            return judged  # it asks something else: what told the thing that is meant from others is gone
        again = self.judging(trail, judged.number, judged.focus, shorter)
        return again if again.decision.good else judged

    def _changed(self, trail: Trail, seed: Judged, judged: Judged) -> bool:
        decision = self.tools.decide("same", self.same, first=seed.question, second=judged.question)
        changed = not decision.values["same"]
        probability = 1 - decision.probabilities["same"]
        reason = None if changed else "the evolution changed nothing"
        trail.say("same", judged.number, decision.as_output(), probability=probability, good=changed, reason=reason)
        if reason:
            trail.refuse("same", reason, probability=probability, question=judged.question)
        return changed
