"""Stage ``split``: a question that asks two things becomes questions that each ask one."""

from collections.abc import Iterator

import dspy

from programs.facts import LinkedFacts
from programs.stages.judge_and_rewrite import JudgeAndRewrite, Judged
from programs.steps.split import parts_of
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Context, Focus


def about(facts: LinkedFacts) -> Focus:
    """Return what a question is about: all facts, and the answer that is meant."""
    changes = {"resolved": " ".join(fact.fact for fact in facts.facts), "answer": facts.answer, "opening": ""}
    return facts.facts[-1].model_copy(update=changes)


class Split(dspy.Module):
    """Split a question, and judge each part on the chunks that are relevant to it."""

    def __init__(self, tools: Tools, judging: JudgeAndRewrite) -> None:
        """Build the predictor that splits, and the critic of questions."""
        super().__init__()
        self.tools = tools
        self.judging = judging
        self.split = tools.predictor("split")

    def forward(
        self, trail: Trail, number: int, facts: LinkedFacts, question: str, spare: Iterator[int]
    ) -> list[Judged]:
        """Return the judged parts that have an answer in some of the chunks, each under a spare number of its own."""
        parts = parts_of(self.tools.write("split", self.split, trail.language, question=question).questions)
        trail.record("split", number, {"question": question, "parts": parts})
        found = []
        pairs = list(zip(facts.contexts, facts.facts, strict=True))
        for part in parts:
            relevant = [pair for pair in pairs if self._answerable(part, pair[:1])]
            if not relevant and self._answerable(part, facts.contexts):
                relevant = pairs  # no chunk answers it alone
            if relevant:
                contexts, chosen = zip(*relevant, strict=True)
                answer = facts.answer if relevant == pairs else chosen[-1].answer
                meant = about(facts._replace(facts=chosen, answer=answer))
                own = next(spare)
                trail.record("split", own, {"question": part, "of": question, **meant.model_dump()})
                found.append(self.judging(trail, own, meant, part, contexts))
        if not found:
            trail.refuse("split", "no part of the question has an answer in its chunks", question=question)
        return found

    def _answerable(self, question: str, contexts: tuple[Context, ...]) -> bool:
        return self.judging.decide(question, contexts).values["answerable"]
