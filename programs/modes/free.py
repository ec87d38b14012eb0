"""Mode ``free``: the model reads the passage and writes question, answer and the words that the answer rests on."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import dspy

from programs.evolutions.base import EVOLVED, Evolution, EvolvedQuestion
from programs.languages.base import Language
from programs.modes.base import AskOptions, Mode
from programs.quotes import find_quotes
from programs.stages.answer_by_reading import AnswerByReading
from programs.stages.judge_and_rewrite import JudgeAndRewrite, Judged
from programs.steps.ask import LENGTHS
from programs.steps.question import is_none, tidy_question
from programs.text import has_words, tokens
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Focus

# What questions ask for, by weight. Of a million questions that people typed into a search engine 53 % ask for a
# description, 47 % for a number, name, place or person; 17 % hold "how", 2 % "why" (MS MARCO, Bajaj et al. 2016,
# arXiv:1611.09268). Why, conditions and purposes are weighted up: who reads documents of an organisation asks for them,
# and a set without them shows nothing about them.
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
_YES_NO = 2  # words; an answer of so few may stand in its question by chance


class AskFreely(dspy.Module):
    """Ask the model for questions of the kinds that are wanted, each with its answer and evidence."""

    def __init__(self, tools: Tools, judging: JudgeAndRewrite, asking: AskOptions) -> None:
        """Ask for as many questions as there are to be candidates, in one call."""
        super().__init__()
        self.tools = tools
        self.candidates = asking.candidates
        self.length = LENGTHS[asking.answers]
        self.ask = tools.predictor("ask")
        self.judging = judging

    def look_for_foci(self, trail: Trail, wanted: Callable[[Focus], bool]) -> tuple[tuple[Focus, ...], bool]:
        """Return kinds to ask for, others in each round; a model always finds something to ask."""
        del wanted
        names = list(KINDS)
        first = trail.attempt.round * self.candidates
        kinds = dict.fromkeys(names[(first + place) % len(names)] for place in range(self.candidates))
        return tuple(Focus(sentence="", answer="", kind=kind) for kind in kinds), False

    def forward(self, trail: Trail, foci: tuple[Focus, ...]) -> list[Judged]:
        """Return all judged questions, the best first."""
        judged = [self.judging(trail, number, focus, focus.wording) for number, focus in self._written(trail, foci)]
        return sorted(judged, key=lambda each: (not each.decision.good, -each.decision.probability, each.number))

    def good(self, trail: Trail, foci: tuple[Focus, ...]) -> Iterable[Judged]:
        """Yield good questions in the order in which they were written; where none is good, the best is rewritten."""
        refused, found = [], False
        for number, focus in self._written(trail, foci):
            judged: Judged = self.judging(trail, number, focus, focus.wording)
            if judged.decision.good:
                found = True
                yield judged
            else:
                self.judging.refuse(trail, judged)
                refused.append(judged)
        if not found and refused:
            rewritten = self.judging.rewrite_refused(trail, max(refused, key=lambda each: each.decision.probability))
            if rewritten.decision.good:
                yield rewritten

    def _written(self, trail: Trail, foci: tuple[Focus, ...]) -> Iterator[tuple[int, Focus]]:
        """Yield the questions that pass the checks of words; each that fails costs one candidate."""
        context, language = trail.contexts[0], self.tools.languages[trail.language]
        written = self.tools.write(
            "ask",
            self.ask,
            trail.language,
            topic=context.topic,
            before=context.before,
            passage=context.passage,
            asked_already=[focus.wording for focus in trail.attempt.asked if focus.wording],
            answers=self.length,
            kinds=[focus.kind for focus in foci],
        ).questions
        if not written:
            trail.refuse("ask", "no question can be read from what was written")
        for number, each in enumerate(written[: len(foci)]):
            kind = each.kind.casefold() if each.kind.casefold() in KINDS else foci[number].kind
            focus, reason = checked(language, context.passage, each.question, each.answer, each.evidence, kind)
            trail.record("ask", number, _told(focus), good=reason is None, reason=reason)
            if reason is not None:
                trail.refuse("ask", reason, question=focus.wording or None)
                continue
            trail.add_focus(focus)
            yield number, focus


class EvolveFreely(dspy.Module):
    """Let the model change a question as an evolution says."""

    def __init__(self, tools: Tools, evolution: Evolution, asking: AskOptions) -> None:
        """Build the predictor that writes, for one evolution."""
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
        said = written.new_question
        focus, reason = checked(
            self.tools.languages[trail.language],
            context.passage,
            said,
            written.new_answer,
            written.evidence,
            seed.focus.kind,
        )
        if is_none(said):
            reason = "the passage does not allow it"
        trail.record(name, EVOLVED, _told(focus), good=reason is None, reason=reason)
        if reason is not None:
            trail.refuse(name, reason, question=focus.wording or None)
            return None
        return EvolvedQuestion(focus.wording, focus)


def change_of(evolution: Evolution) -> str:
    """Return the change that a model is asked to make, with the most words that it may use."""
    return f"{evolution.change} At most {evolution.most_words} words."


def checked(
    language: Language, passage: str, question: str, answer: str, evidence: str, kind: str
) -> tuple[Focus, str | None]:
    """Return what a model wrote about a passage, with what the checks of words find wrong.

    An answer may stand in a question that offers several to choose from ("Which is older, the weir or the mill?").
    """
    question, answer = tidy_question(question), " ".join(answer.split())
    words = find_quotes(passage, evidence)
    focus = Focus(sentence=" ".join(words or ()), answer=answer, kind=kind, wording=question)
    if not question or not answer:
        return focus, "no question with an answer was written"
    if words is None:
        return focus, f"its evidence is not in the passage: {evidence!r:.80}"
    offered = language.offers_alternatives(question)
    if len(tokens(answer)) > _YES_NO and has_words(question, answer) and not offered:
        return focus, f"it gives its answer away: {answer!r}"
    return focus, None


def _told(focus: Focus) -> dict[str, Any]:
    return {"question": focus.wording, **focus.model_dump(include={"answer", "sentence", "kind"})}


def _every(evolution: Evolution) -> bool:
    del evolution
    return True


MODE = Mode(
    name="free",
    about="The model reads the passage and writes question, answer and the words that the answer rests on.",
    steps=("ask", "evolve", "combine"),
    asker=AskFreely,
    answering=AnswerByReading,
    evolving=EvolveFreely,
    kinds=KINDS,
    carries=_every,
    mix={"simple": 0.5, "reasoning": 0.2, "conditional": 0.1, "multi_context": 0.2},
    critic="verdict",
    writes_freely=True,
    mix_rounds=3,
    # The critic has read whether a question stands alone. What one embedder cannot find is no worse for it: a set
    # without such questions would measure every other retriever on what is easy for this one.
    max_rank=0,
)
