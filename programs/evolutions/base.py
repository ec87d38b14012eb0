"""Evolutions: ways to turn a seed question into another, usually harder, question."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from programs.languages.base import Language
from programs.languages.table import Languages
from programs.stages.finish import Finish
from programs.stages.judge_and_rewrite import JudgeAndRewrite, Judged
from programs.steps.reword import Style
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Context, Draft, Focus

EVOLVED = 1000  # the candidate number of evolved questions; seeds count from 0
SHORT, LONG = 15, 25  # word limits of evolved questions
Restyling = Callable[[str, Language, random.Random], str | None]
"""Rewords a question; returns None if the rule has no other wording."""


class EvolvedQuestion(NamedTuple):
    """An evolved question and its focus."""

    question: str
    focus: Focus


class Evolver(Protocol):
    """Evolves seed questions. Implementations are ``dspy.Module`` classes; predictors are attributes."""

    def evolve(self, trail: Trail, seed: Judged) -> EvolvedQuestion | None:
        """Return the evolved question, or refuse it and return None."""
        ...


class BySyntax(Evolver, Protocol):
    """Evolves questions with words from the syntax of sentences."""

    def __init__(self, tools: Tools) -> None: ...

    @staticmethod
    def can_evolve(focus: Focus, context: Context, languages: Languages) -> bool:
        """Return, without a model, whether a question about a focus can be evolved."""
        ...


class OwnChecks(Protocol):
    """Makes questions that need other checks than an evolved question. Implementations are ``dspy.Module`` classes."""

    def __init__(self, tools: Tools, judging: JudgeAndRewrite, finish: Finish, length: str) -> None: ...

    def __call__(self, trail: Trail, seed: Judged) -> Draft | None:
        """Return the draft of a checked question, or refuse it and return None."""
        ...


def any_passage(context: Context) -> bool:
    """Return True."""
    del context
    return True


@dataclass(frozen=True)
class Evolution:
    """One row of the table.

    Attributes:
        name: its name in ``--mix``.
        about: one sentence for the help and the documentation.
        change: the instruction for a model that writes freely; empty for ``simple`` and for several chunks.
        applies_to: whether it can be applied to a passage, decided without a model.
        max_words: the most words of the evolved question.
        chunks: how many chunks a question is made from.
        keeps_meaning: whether the evolved question asks for the same thing in other words.
        by_syntax: evolves by syntax, for models that do not write freely.
        restyle: rewords a finished question by rule, without a model.
        own_checks: makes and checks its questions itself, for models that write freely.
        answers_seed: whether the seed must pass every check first, because the sample contains it.
        style: how a model rewords a finished question.
        rank: its position in the table, the simplest evolution first.
    """

    name: str
    about: str
    change: str = ""
    applies_to: Callable[[Context], bool] = any_passage
    max_words: int = LONG
    chunks: int = 1
    keeps_meaning: bool = False
    by_syntax: type[BySyntax] | None = None
    restyle: Restyling | None = None
    own_checks: type[OwnChecks] | None = None
    answers_seed: bool = False
    style: Style | None = None
    rank: int = 9

    @property
    def rewords(self) -> bool:
        """Return whether it rewords a finished question, whose answer and chunks stay the same."""
        return self.restyle is not None or self.style is not None
