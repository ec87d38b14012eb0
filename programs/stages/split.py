"""Stage ``split``: split a question that asks two things into questions that each ask one."""

from collections.abc import Iterator

import dspy

from programs.facts import LinkedFacts
from programs.stages.judge_and_rewrite import JudgeAndRewrite, Judged
from programs.steps.split import parts_of
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Context, Focus


def focus_of(facts: LinkedFacts) -> Focus:
    """Return one focus that holds all facts and the expected answer."""
    changes = {"resolved": " ".join(fact.fact for fact in facts.facts), "answer": facts.answer, "opening": ""}
    return facts.facts[-1].model_copy(update=changes)


class Split(dspy.Module):
    """Split a question, and judge each part on its relevant chunks."""

    def __init__(self, tools: Tools, judging: JudgeAndRewrite) -> None:
        super().__init__()
        self.tools = tools
        self.judging = judging
        self.split = tools.predictor("split")

    def forward(
        self, trail: Trail, number: int, facts: LinkedFacts, question: str, free_numbers: Iterator[int]
    ) -> list[Judged]:
        """Return the judged parts that some of the chunks answer, each with its own candidate number."""
        parts = parts_of(self.tools.write("split", self.split, trail.language, question=question).questions)
        trail.record("split", number, {"question": question, "parts": parts})
        found = []
        pairs = list(zip(facts.contexts, facts.facts, strict=True))
        for part in parts:
            relevant = [pair for pair in pairs if self._answerable(part, pair[:1])]
            if not relevant and self._answerable(part, facts.contexts):
                relevant = pairs  # no single chunk answers it
            if relevant:
                contexts, chosen = zip(*relevant, strict=True)
                answer = facts.answer if relevant == pairs else chosen[-1].answer
                focus, part_number = focus_of(facts._replace(facts=chosen, answer=answer)), next(free_numbers)
                trail.record("split", part_number, {"question": part, "of": question, **focus.model_dump()})
                found.append(self.judging(trail, part_number, focus, part, contexts))
        if not found:
            trail.refuse("split", "no part of the question has an answer in its chunks", question=question)
        return found

    def _answerable(self, question: str, contexts: tuple[Context, ...]) -> bool:
        return self.judging.decide(question, contexts).values["answerable"]
