"""What an asking mode is: how a model is asked for questions."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from programs.evolutions import EVOLUTIONS
from programs.evolutions.base import Evolution, Evolving
from programs.stages.judge_and_rewrite import JudgeAndRewrite, Judged
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Focus


@dataclass(frozen=True)
class AskOptions:
    """How questions are asked for.

    Attributes:
        candidates: questions asked for in each attempt.
        answers: how long answers are: a key of :data:`programs.steps.ask.LENGTHS`.
    """

    candidates: int = 2
    answers: str = "short"


class Asker(Protocol):
    """Asks questions about the first chunk of an attempt; implementations are ``dspy.Module`` classes."""

    def look_for_foci(self, trail: Trail, wanted: Callable[[Focus], bool]) -> tuple[tuple[Focus, ...], bool]:
        """Return foci to ask about where none was chosen ahead, and whether none is left after them."""
        ...

    def __call__(self, trail: Trail, foci: tuple[Focus, ...]) -> list[Judged]:
        """Return the judged questions about foci, the best first, whatever the critic thinks of them."""
        ...

    def good(self, trail: Trail, foci: tuple[Focus, ...]) -> Iterable[Judged]:
        """Yield the good questions about foci, the best first, and refuse the others."""
        ...


@dataclass(frozen=True)
class Mode:
    """One row of the table.

    Attributes:
        name: what the command line calls it.
        about: how it asks, in one sentence.
        steps: the steps that write questions in it.
        asker: makes what asks.
        answering: makes the stage that finds and checks the answer.
        evolving: makes what evolves a question.
        kinds: what questions can ask for, each with its weight where nobody gives one.
        carries: says which evolutions it can carry.
        mix: how many samples of each evolution are made where nobody says, by weight.
        critic: who decides where nobody says.
        needs_syntax: whether it rests on the syntax of sentences.
        writes_freely: whether the model reads the passage and chooses everything itself.
        mix_rounds: rounds in which the mix is kept to; after them it gives way to the size.
        max_rank: the last rank at which a question must find its chunks where nobody says; 0 only records it.
    """

    name: str
    about: str
    steps: tuple[str, ...]
    asker: Callable[[Tools, JudgeAndRewrite, AskOptions], Asker]
    answering: Callable[[Tools], Any]
    evolving: Callable[[Tools, Evolution, AskOptions], Evolving]
    kinds: Mapping[str, float]
    carries: Callable[[Evolution], bool]
    mix: Mapping[str, float]
    critic: str
    needs_syntax: bool = False
    writes_freely: bool = False
    mix_rounds: int = 1
    max_rank: int = 5

    @property
    def evolutions(self) -> tuple[str, ...]:
        """Return the evolutions that it can carry, the plainest first."""
        return tuple(name for name, row in EVOLUTIONS.items() if self.carries(row))
