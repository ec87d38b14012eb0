"""Modes: how a model is asked for questions."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from programs.evolutions import EVOLUTIONS
from programs.evolutions.base import Evolution, Evolver
from programs.stages.judge_and_rewrite import JudgeAndRewrite, Judged
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Focus


@dataclass(frozen=True)
class AskOptions:
    """Options of asking.

    Attributes:
        candidates: questions in each attempt.
        answers: how long answers are, a key of :data:`programs.steps.ask.LENGTHS`.
    """

    candidates: int = 2
    answers: str = "short"


class Asker(Protocol):
    """Asks questions about the first chunk of an attempt; implementations are ``dspy.Module`` classes."""

    def look_for_foci(self, trail: Trail, wanted: Callable[[Focus], bool]) -> tuple[tuple[Focus, ...], bool]:
        """Return foci for an attempt that has none, and whether no other foci are left."""
        ...

    def __call__(self, trail: Trail, foci: tuple[Focus, ...]) -> list[Judged]:
        """Return all judged questions about foci, good or not, the best first."""
        ...

    def good(self, trail: Trail, foci: tuple[Focus, ...]) -> Iterable[Judged]:
        """Yield the good questions about foci, the best first; refuse the others."""
        ...


@dataclass(frozen=True)
class Mode:
    """One row of the table.

    Attributes:
        name: its name in ``--mode``.
        about: one sentence for the help and the documentation.
        steps: its steps that write questions.
        asker: builds the asker.
        answer: builds the answer stage.
        evolver: builds the evolver of an evolution.
        kinds: the kinds of question, with their default weights.
        supports: whether it supports an evolution.
        mix: the default mix of evolutions, by weight.
        critic: the default critic.
        needs_syntax: whether it needs parsed sentences.
        writes_freely: whether the model reads the whole passage and chooses what to ask.
        mix_rounds: rounds in which the mix is kept; after them, reaching the size takes precedence.
        max_rank: the default of ``--max-rank``.
    """

    name: str
    about: str
    steps: tuple[str, ...]
    asker: Callable[[Tools, JudgeAndRewrite, AskOptions], Asker]
    answer: Callable[[Tools], Any]
    evolver: Callable[[Tools, Evolution, AskOptions], Evolver]
    kinds: Mapping[str, float]
    supports: Callable[[Evolution], bool]
    mix: Mapping[str, float]
    critic: str
    needs_syntax: bool = False
    writes_freely: bool = False
    mix_rounds: int = 1
    max_rank: int = 5

    @property
    def evolutions(self) -> tuple[str, ...]:
        """Return the supported evolutions, the simplest first."""
        return tuple(name for name, evolution in EVOLUTIONS.items() if self.supports(evolution))
