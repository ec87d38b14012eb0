"""Mode ``free``: the model reads the passage and writes a question, its answer and the supporting quote."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import dspy

from programs.evolutions.base import EVOLVED, Evolution, EvolvedQuestion
from programs.modes.base import AskOptions, Mode
from programs.stages.answer import AnswerByReading
from programs.stages.judge_and_rewrite import JudgeAndRewrite, Judged
from programs.stages.language import is_in_language
from programs.steps.ask import LENGTHS
from programs.steps.question import is_none
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Focus
from programs.written import check_written

# Default weights of the kinds of question. In a million search engine queries, 53 % ask for a description and 47 % for
# a number, name, place or person; 17 % contain "how" and 2 % "why" (MS MARCO, Bajaj et al. 2016, arXiv:1611.09268).
# Reasons, conditions and purposes have higher weights, because users of an organisation's documents ask for them.
KINDS = {
    "fact": 4.0,
    "how": 2.0,
    "why": 1.5,
    "definition": 1.0,
    "list": 1.0,
    "condition": 1.0,
    "comparison": 0.5,
    "consequence": 0.5,
    "purpose": 0.5,
}


class AskFreely(dspy.Module):
    """Ask the model, in one call, for questions of the wanted kinds, each with its answer and evidence."""

    def __init__(self, tools: Tools, judging: JudgeAndRewrite, asking: AskOptions) -> None:
        super().__init__()
        self.tools = tools
        self.candidates = asking.candidates
        self.length = LENGTHS[asking.answers]
        self.ask = tools.predictor("ask")
        self.judging = judging

    def look_for_foci(self, trail: Trail, wanted: Callable[[Focus], bool]) -> tuple[tuple[Focus, ...], bool]:
        """Return kinds to ask for, different ones in each round; they are never used up."""
        del wanted
        names = list(KINDS)
        first = trail.attempt.round * self.candidates
        kinds = dict.fromkeys(names[(first + index) % len(names)] for index in range(self.candidates))
        return tuple(Focus(sentence="", answer="", kind=kind) for kind in kinds), False

    def forward(self, trail: Trail, foci: tuple[Focus, ...]) -> list[Judged]:
        """Return all judged questions, the best first."""
        judged = [self.judging(trail, number, focus, focus.wording) for number, focus in self._write(trail, foci)]
        return sorted(judged, key=lambda one: (not one.decision.good, -one.decision.probability, one.number))

    def good(self, trail: Trail, foci: tuple[Focus, ...]) -> Iterable[Judged]:
        """Yield good questions in the order they were written; if none is good, the best one is rewritten."""
        refused, found = [], False
        for number, focus in self._write(trail, foci):
            judged: Judged = self.judging(trail, number, focus, focus.wording)
            if judged.decision.good:
                found = True
                yield judged
            else:
                self.judging.refuse(trail, judged)
                refused.append(judged)
        if not found and refused:
            rewritten = self.judging.rewrite_refused(trail, max(refused, key=lambda one: one.decision.probability))
            if rewritten.decision.good:
                yield rewritten

    def _write(self, trail: Trail, foci: tuple[Focus, ...]) -> Iterator[tuple[int, Focus]]:
        """Yield the questions that pass simple checks; the others count as candidates, too."""
        context, language = trail.contexts[0], self.tools.question_language(trail.language)
        written = self.tools.write(
            "ask",
            self.ask,
            trail.language,
            topic=context.topic,
            before=context.before,
            passage=context.passage,
            asked_already=trail.earlier_questions,
            answers=self.length,
            kinds=[focus.kind for focus in foci],
        ).questions
        if not written:
            trail.refuse("ask", "no question can be read from what was written")
        for number, candidate in enumerate(written[: len(foci)]):
            kind = candidate.kind.casefold()
            focus, reason = check_written(
                language,
                context.passage,
                candidate.question,
                candidate.answer,
                candidate.evidence,
                kind if kind in KINDS else foci[number].kind,
            )
            if not trail.check("ask", number, _output(focus), reason, question=focus.wording or None):
                continue
            if not is_in_language(self.tools, trail, focus.wording, focus.answer):
                continue
            trail.add_focus(focus)
            yield number, focus


class EvolveFreely(dspy.Module):
    """Let the model evolve a question."""

    def __init__(self, tools: Tools, evolution: Evolution, asking: AskOptions) -> None:
        super().__init__()
        self.tools = tools
        self.evolution = evolution
        self.length = LENGTHS[asking.answers]
        self.step = tools.predictor("evolve")

    def evolve(self, trail: Trail, seed: Judged) -> EvolvedQuestion | None:
        """Return the changed question with its own answer and evidence."""
        context, name = trail.contexts[0], self.evolution.name
        written = self.tools.write(
            "evolve",
            self.step,
            trail.language,
            topic=context.topic,
            passage=context.passage,
            question=seed.question,
            answer=seed.focus.answer,
            change=change_of(self.evolution),
            answers=self.length,
        )
        focus, reason = check_written(
            self.tools.question_language(trail.language),
            context.passage,
            written.new_question,
            written.new_answer,
            written.evidence,
            seed.focus.kind,
        )
        if is_none(written.new_question):
            reason = "the passage does not allow it"
        if not trail.check(name, EVOLVED, _output(focus), reason, question=focus.wording or None):
            return None
        if not is_in_language(self.tools, trail, focus.wording, focus.answer):
            return None
        return EvolvedQuestion(focus.wording, focus)


def change_of(evolution: Evolution) -> str:
    """Return the instruction of an evolution with its word limit."""
    return f"{evolution.change} At most {evolution.max_words} words."


def _output(focus: Focus) -> dict[str, Any]:
    return {"question": focus.wording, **focus.model_dump(include={"answer", "sentence", "kind"})}


MODE = Mode(
    name="free",
    about="The model reads the passage and writes a question, its answer and the supporting quote.",
    steps=("ask", "evolve", "combine", "unanswerable", "follow_up"),
    asker=AskFreely,
    answer=AnswerByReading,
    evolver=EvolveFreely,
    kinds=KINDS,
    supports=lambda _: True,
    mix={"simple": 0.5, "reasoning": 0.2, "conditional": 0.1, "multi_context": 0.2},
    critic="verdict",
    writes_freely=True,
    mix_rounds=3,
    # The LLM critic judges whether a question can be understood alone. Refusing questions that this embedder cannot
    # find would bias the set towards it.
    max_rank=0,
)
