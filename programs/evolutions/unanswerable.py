"""Evolution ``unanswerable``: a question on the subject of the passage that no chunk of the corpus answers."""

import dspy

from programs.deciding import with_reason, without_answer
from programs.evolutions.base import EVOLVED, Evolution
from programs.stages.contexts import critic_passage
from programs.stages.finish import Finish
from programs.stages.judge_and_rewrite import JudgeAndRewrite, Judged
from programs.stages.language import is_in_language
from programs.stages.reading import ReadAnswers
from programs.steps.question import is_none, tidy_question
from programs.text import plain
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Context, Draft

NAME = "unanswerable"
_PREMISE = "premise"
_STEP = "unanswered"  # the check of the chunks that a search finds
_HITS = 10  # search results that must not answer the question


class Unanswerable(dspy.Module):
    """Write a question that the passage leaves open; keep it if no chunk that a search finds answers it.

    A chunk answers a question if a model that reads it finds an answer, or if the critic finds it answerable.
    """

    def __init__(self, tools: Tools, judging: JudgeAndRewrite, finish: Finish, length: str) -> None:
        super().__init__()
        del finish, length  # there is no chunk to be found, and the answer is always the same
        self.tools = tools
        self.judging = judging
        self.reading = ReadAnswers(tools)
        self.unanswerable = tools.predictor(NAME)
        self.premise = tools.predictor(_PREMISE)

    def forward(self, trail: Trail, seed: Judged) -> Draft | None:
        """Return the draft of an unanswerable question on the passage of a seed question; None if a check fails."""
        context = trail.contexts[0]
        written = self.tools.write(
            NAME,
            self.unanswerable,
            trail.language,
            topic=context.topic,
            passage=context.passage,
            answered_question=seed.question,
        )
        question, missing = tidy_question(written.question), " ".join(written.missing.split())
        reason = None
        if is_none(question):
            reason = "the passage leaves nothing open"
        elif not question.endswith("?"):
            reason = "no question was written"
        output = {"question": question, "missing": missing}
        if not trail.check(NAME, EVOLVED, output, reason, question=question or None):
            return None
        if not is_in_language(self.tools, trail, question, ""):
            return None
        probability = self._judge(trail, question, context)
        if probability is None or not self._premise_holds(trail, question, context):
            return None
        if not self._is_unanswered(trail, question, context):
            return None
        return Draft(
            question=question,
            answer=self.tools.question_language(trail.language).unanswered,
            evolution=NAME,
            contexts=(context.chunk,),
            relevant=(),
            retrieval=self.tools.retriever.rank(question, ()),
            probability=round(probability, 4),
            trail=trail.records_of(seed.number, EVOLVED),
            metadata={
                "answerable": False,
                "missing": missing,
                "kind": seed.focus.kind,
                "seed_question": seed.question,
            },
        )

    def _judge(self, trail: Trail, question: str, context: Context) -> float | None:
        """Return the probability that a question is clear, and left open by its passage; refuse it and return None."""
        decision = without_answer(self.judging.decide(question, (context,)))
        probability, reason = decision.probability, None if decision.good else decision.refusal
        output = {"question": question, **decision.as_output()}
        passes = trail.check("judge", EVOLVED, output, reason, probability=probability, question=question)
        return probability if passes else None

    def _premise_holds(self, trail: Trail, question: str, context: Context) -> bool:
        passage = critic_passage(self.tools.critics[_PREMISE], (context,))
        decision = self.tools.decide(_PREMISE, self.premise, passage=passage, question=question)
        reason = None if decision.good else with_reason("the passage does not bear out its premise", decision.reason)
        return trail.check(_PREMISE, EVOLVED, {}, reason, probability=decision.probability, question=question)

    def _is_unanswered(self, trail: Trail, question: str, context: Context) -> bool:
        """Return whether neither the passage nor a chunk that a search finds answers a question."""
        read = {context.chunk.chunk_id: context}
        for hit in self.tools.retriever.search(question, _HITS):
            update = {"topic": plain(hit.topic), "passage": plain(hit.text)}
            read.setdefault(hit.chunk_id, context.model_copy(update=update))
        for chunk_id, other in read.items():
            found = self.reading.read(trail, question, (other,), expected="")
            if found is None and other is not context:
                decision = self.judging.decide(question, (other,))
                found = decision.reasons.get("answerable", "") if decision.values["answerable"] else None
            if found is not None:
                reason = with_reason(f"a chunk answers it: {chunk_id}", found)
                trail.check(_STEP, EVOLVED, {"chunk": chunk_id, "answer": found}, reason, question=question)
                return False
        trail.record(_STEP, EVOLVED, {"chunks": len(read)}, good=True)
        return True


EVOLUTION = Evolution(NAME, "Asks for something that no chunk answers.", own_checks=Unanswerable)
