"""What an evolution is: a way to make another, mostly harder, question of a seed question."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from programs.languages.base import Language
from programs.languages.table import Languages
from programs.stages.judge_and_rewrite import Judged
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Context, Focus

EVOLVED = 1000  # the candidate number of what an evolution makes; seeds count from 0
SHORT, LONG = 15, 25  # words that an evolved question may have


Restyling = Callable[[str, Language, random.Random], str | None]


class EvolvedQuestion(NamedTuple):
    """An evolved question and what it is about now."""

    question: str
    focus: Focus


class Evolving(Protocol):
    """Makes an evolution; implementations are ``dspy.Module`` classes with their predictors in sight."""

    def evolve(self, trail: Trail, seed: Judged) -> EvolvedQuestion | None:
        """Return the evolved question, or refuse it and return None."""
        ...


class BySyntax(Evolving, Protocol):
    """Makes an evolution whose words come from the syntax of sentences."""

    def __init__(self, tools: Tools) -> None:
        """Build the module from the tools of the run."""
        ...

    @staticmethod
    def can_grow(focus: Focus, context: Context, languages: Languages) -> bool:
        """Return, without a model, whether a question about a focus can be evolved."""
        ...


def anywhere(context: Context) -> bool:
    """Return True: every passage can carry the evolution."""
    del context
    return True


@dataclass(frozen=True)
class Evolution:
    """One row of the table.

    Attributes:
        name: what a mix calls it.
        about: what it makes of a question, in one sentence.
        change: what a model that writes freely is told to change; empty where nothing is changed or several chunks
            are asked about at once.
        found_in: says without a model whether a passage can carry it.
        most_words: of the evolved question.
        chunks: how many chunks a question is made from.
        keeps_meaning: whether the question asks for the same thing in other words.
        by_syntax: makes it where syntax gives the words, for models that do not write freely.
        restyle: words a finished question anew by rule, without a model; None where the rule has no other wording.
        rank: its place among the others, the plainest first.
    """

    name: str
    about: str
    change: str = ""
    found_in: Callable[[Context], bool] = anywhere
    most_words: int = LONG
    chunks: int = 1
    keeps_meaning: bool = False
    by_syntax: type[BySyntax] | None = None
    restyle: Restyling | None = None
    rank: int = 9
