"""Stage ``combine_facts``: questions that need the facts of several chunks, written in small steps."""

from collections.abc import Iterator
from itertools import count

import dspy

from programs.facts import LinkedFacts, link_facts
from programs.stages.combine import MULTI
from programs.stages.compose import Compose
from programs.stages.finish import Finish
from programs.stages.judge_and_rewrite import JudgeAndRewrite, Judged
from programs.stages.need import Need
from programs.stages.split import Split, focus_of
from programs.steps.question import tidy_question
from programs.steps.split import asks_twice
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Draft

_TEMPERATURE = 0.7  # of repeated draws about the same facts


class CombineFacts(dspy.Module):
    """Write questions about linked facts of the chunks; keep the best one that passes every check.

    compose, several times → split → judge ⇄ rewrite → need → round trip of each chunk → answer → draft
    """

    def __init__(
        self, tools: Tools, judging: JudgeAndRewrite, finish: Finish, *, draws: int, min_chunks: int, singles: bool
    ) -> None:
        """Compose the stages.

        Args:
            tools: the tools of the run.
            judging: judges the questions.
            finish: runs the remaining checks.
            draws: how many questions to write.
            min_chunks: fewest chunks that a question must need.
            singles: whether to keep parts of split questions that are about one chunk.
        """
        super().__init__()
        self.tools = tools
        self.judging = judging
        self.finish = finish
        self.draws = draws
        self.min_chunks = min_chunks
        self.singles = singles
        self.compose = Compose(tools)
        self.split = Split(tools, judging)
        self.need = Need(tools, judging)

    def forward(self, trail: Trail) -> Draft | None:
        """Return the draft of the best good question, the one with the most chunks first; None if none is good."""
        draft: Draft | None = None
        for judged, facts in self._candidates(trail):
            self.judging.refuse(trail, judged)
            if judged.decision.good and draft is None:
                draft = self._finish(trail, judged, facts)
        return draft

    def _candidates(self, trail: Trail) -> list[tuple[Judged, LinkedFacts]]:
        """Return the judged questions with their facts, the best first."""
        linked = link_facts(trail.contexts, self.tools.languages)
        drawn: dict[tuple[int, str], list[Judged]] = {}
        free_numbers = count(self.draws)
        for number in range(self.draws if linked else 0):
            repeated, index = divmod(number, len(linked))
            sampling = {"temperature": _TEMPERATURE, "seed": trail.attempt.seed + number} if repeated else None
            question = self.compose(trail, number, linked[index], sampling)
            if question is not None and (index, question) not in drawn:
                drawn[index, question] = self._judge(trail, number, linked[index], question, free_numbers)
        found = [(judged, linked[index]) for (index, _), parts in drawn.items() for judged in parts]
        return sorted(found, key=lambda pair: (-len(pair[0].contexts), -pair[0].decision.probability, pair[0].number))

    def _judge(
        self, trail: Trail, number: int, facts: LinkedFacts, question: str, free_numbers: Iterator[int]
    ) -> list[Judged]:
        """Judge a question about some facts, or the parts that it is split into."""
        if asks_twice(question, self.tools.languages[trail.language]):
            return list(self.split(trail, number, facts, question, free_numbers))
        judged = self.judging(trail, number, focus_of(facts), tidy_question(question), facts.contexts)
        return [judged if judged.decision.good else self.judging.rewrite_refused(trail, judged)]

    def _finish(self, trail: Trail, judged: Judged, facts: LinkedFacts) -> Draft | None:
        """Return the draft of a question that needs all its chunks; with ``singles``, also of one about one chunk."""
        if len(judged.contexts) < self.min_chunks:
            if not self.singles:
                trail.refuse("split", "it needs one chunk only", question=judged.question)
                return None
            evolution = "simple"
        elif self.need(trail, judged, facts.names):
            evolution = MULTI
        else:
            return None
        draft: Draft | None = self.finish(trail, judged, evolution)
        return draft
