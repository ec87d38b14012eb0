"""Evolution ``reasoning``: replaces a name by a description from another sentence, so that a second fact is needed."""

import dspy

from programs.evolutions.base import EVOLVED, Evolution, EvolvedQuestion
from programs.focus import likely_question
from programs.languages.base import Link
from programs.languages.table import Languages
from programs.stages.judge_and_rewrite import Judged
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Context, Focus

NAME = "reasoning"


class Reasoning(dspy.Module):
    """Replace a name in the question by a description."""

    def __init__(self, tools: Tools) -> None:
        super().__init__()
        self.tools = tools
        self.reasoning = tools.predictor(NAME)

    @staticmethod
    def can_evolve(focus: Focus, context: Context, languages: Languages) -> bool:
        """Return whether the passage describes a name of the likely question."""
        return _link(focus, context, likely_question(focus), languages) is not None

    def evolve(self, trail: Trail, seed: Judged) -> EvolvedQuestion | None:
        """Return the seed question with a name replaced by a description from another sentence."""
        context = trail.contexts[0]
        linked = _link(seed.focus, context, seed.question, self.tools.languages)
        if linked is None:
            reason = "nothing in the passage describes what the question names"
            trail.refuse(NAME, reason, question=seed.question)
            return None
        kind, known = linked.kind, True
        if not kind:
            inputs = {"topic": context.topic, "fact": linked.sentence, "name": linked.name}
            kind = self.tools.write(NAME, self.reasoning, context.language, **inputs).kind
            # A kind that the text does not mention is a guess, and small models guess badly.
            language = self.tools.languages[context.language]
            mentioned = set(language.content_words(f"{context.topic} {context.passage}"))
            known = bool(set(language.content_words(kind)) & mentioned)
        syntax = self.tools.languages.syntax_in(context.language)
        question = syntax.describe(seed.question, linked, kind) if known and syntax else None
        trail.record(NAME, EVOLVED, {**linked._asdict(), "kind": kind, "question": question})
        if question is None:
            trail.refuse(NAME, f"{kind!r} is no kind of {linked.name!r}", question=seed.question)
            return None
        return EvolvedQuestion(question, seed.focus)


def _link(focus: Focus, context: Context, question: str, languages: Languages) -> Link | None:
    syntax = languages.syntax_in(context.language)
    return syntax.link(context.passage, context.topic, focus, question) if syntax else None


EVOLUTION = Evolution(
    NAME,
    "Needs two statements of the passage.",
    change="Make the answer follow from two statements of the passage that stand apart: what came of something and "
    "why, two figures or dates that are counted with or compared, an order of events, or a rule and the case that it "
    "settles. Call things by their names: whoever asks wants to know the result and sets no riddle.",
    by_syntax=Reasoning,
    rank=1,
)
