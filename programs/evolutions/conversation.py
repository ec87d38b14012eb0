"""Evolution ``conversation``: a follow-up to an answered question, with its stand-alone form as the question."""

from typing import Any

import dspy

from programs.deciding import with_reason
from programs.evolutions.base import EVOLVED, Evolution
from programs.stages.changed import Changed
from programs.stages.finish import Finish
from programs.stages.judge_and_rewrite import JudgeAndRewrite, Judged
from programs.steps.follow_up import refers_back
from programs.steps.question import is_none, tidy_question
from programs.steps.resolve import transcript
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Draft
from programs.written import check_written

NAME = "conversation"
_STEP, _RESOLVE = "follow_up", "resolve"


class Conversation(dspy.Module):
    """Write a follow-up question that cannot be understood without the seed question and its answer.

    Its stand-alone form passes the checks of any other question. It is not rewritten, because it must stay the same
    question as the follow-up.
    """

    def __init__(self, tools: Tools, judging: JudgeAndRewrite, finish: Finish, length: str) -> None:
        super().__init__()
        self.tools = tools
        self.judging = judging
        self.finish = finish
        self.length = length
        self.follow_up = tools.predictor(_STEP)
        self.resolve = tools.predictor(_RESOLVE)
        self.changed = Changed(tools)

    def forward(self, trail: Trail, seed: Judged) -> Draft | None:
        """Return the draft of the stand-alone question, with its conversation as metadata; None if a check fails."""
        context, first = trail.contexts[0], {"question": seed.question, "answer": seed.focus.answer}
        written = self.tools.write(
            _STEP,
            self.follow_up,
            trail.language,
            topic=context.topic,
            passage=context.passage,
            answers=self.length,
            **first,
        )
        follow_up, language = tidy_question(written.follow_up), self.tools.question_language(trail.language)
        focus, reason = check_written(
            language,
            context.passage,
            written.stand_alone_question,
            written.new_answer,
            written.evidence,
            seed.focus.kind,
        )
        if is_none(follow_up):
            reason = "the passage tells nothing else"
        elif reason is None and not follow_up.endswith("?"):
            reason = "no follow-up was written"
        elif reason is None and not refers_back(follow_up, focus.wording, " ".join(first.values()), language):
            reason = "the follow-up leaves nothing out that the first turn tells"
        output = {"follow_up": follow_up, "question": focus.wording, "answer": focus.answer, "sentence": focus.sentence}
        if not trail.check(_STEP, EVOLVED, output, reason, question=focus.wording or follow_up or None):
            return None
        messages = [
            {"role": "user", "content": seed.question},
            {"role": "assistant", "content": seed.focus.answer},
            {"role": "user", "content": follow_up},
        ]
        judged: Judged = self.judging(trail, EVOLVED, focus, focus.wording)
        if not judged.decision.good:
            self.judging.refuse(trail, judged)
            return None
        checks = (
            self.changed(trail, seed.question, judged)
            and self._depends(trail, judged, follow_up)
            and self._resolves(trail, judged, messages)
        )
        draft: Draft | None = self.finish(trail, judged, NAME) if checks else None
        if draft is None:
            return None
        metadata: dict[str, Any] = {**draft.metadata, "seed_question": seed.question, "conversation": messages}
        return draft.model_copy(update={"trail": trail.records_of(seed.number, EVOLVED), "metadata": metadata})

    def _depends(self, trail: Trail, judged: Judged, follow_up: str) -> bool:
        """Return whether the critic finds that a follow-up cannot be understood alone."""
        decision = self.judging.decide(follow_up, judged.contexts)
        independent, probability = decision.values["independent"], 1 - decision.probabilities["independent"]
        reason = "the follow-up can be understood without the first turn" if independent else None
        output, question = {"follow_up": follow_up}, judged.question
        return trail.check(NAME, judged.number, output, reason, probability=probability, question=question)

    def _resolves(self, trail: Trail, judged: Judged, messages: list[dict[str, str]]) -> bool:
        """Return whether the critic finds that the stand-alone question asks the same as the follow-up."""
        conversation = transcript(messages)
        decision = self.tools.decide(_RESOLVE, self.resolve, conversation=conversation, question=judged.question)
        reason = None if decision.good else with_reason("the follow-up asks something else", decision.reason)
        output, probability = {"conversation": conversation}, decision.probability
        return trail.check(_RESOLVE, judged.number, output, reason, probability=probability, question=judged.question)


EVOLUTION = Evolution(
    NAME,
    "Asks a follow-up question, as the second turn of a conversation.",
    own_checks=Conversation,
    answers_seed=True,
)
