"""What a recipe is: a program, its options, and what it can ask of a corpus."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol, Self

from pydantic import BaseModel, ConfigDict

from programs.languages.table import Languages
from programs.modes import MODES, Mode
from programs.tools import Tools
from programs.types import Context, Focus, Hit, Program


class Options(BaseModel):
    """The options of one recipe; the description of a field is its help on the command line.

    ``growing`` names options that a run may change on its way, each with its values in an order in which every one only
    adds to those before it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    growing: ClassVar[Mapping[str, Sequence[Any]]] = {}

    def compared(self) -> dict[str, Any]:
        """Return the options that make two runs the same, and that may not change during one."""
        return self.model_dump(mode="json", exclude=set(self.growing))

    def in_mode(self, mode: Mode) -> Self:
        """Return the options for an asking mode, with the mode's defaults for those not given.

        Raises:
            ValueError: the mode cannot do what is asked; the message names the option.
        """
        del mode
        return self

    def limits(self, size: int) -> Mapping[str, int]:
        """Return the most samples of each kind of question in a set of a size; nothing for kinds without a limit."""
        del size
        return {}


@dataclass(frozen=True)
class Material:
    """The material that an agenda is made from.

    Attributes:
        contexts: every chunk of the run with what was read off it, in the order in which chunks are drawn.
        near: the chunks nearest to a chunk by id, itself left out, at most so many, the nearest first.
        languages: what is known of the languages of chunks.
        mode: how the model is asked for questions.
    """

    contexts: Sequence[Context]
    near: Callable[[str, int], Sequence[Hit]]
    languages: Languages
    mode: Mode = MODES["guided"]


class Past(NamedTuple):
    """An earlier attempt on the same contexts: what was wanted, what was asked about, and what came of it.

    ``put_off`` says that a good question came of it, of which there were enough at the time.
    """

    wanted: str
    foci: tuple[Focus, ...]
    accepted: str | None
    exhausted: bool
    put_off: bool = False


class Agenda(Protocol):
    """What a recipe can ask of a corpus, known ahead and without a model."""

    @property
    def keys(self) -> Sequence[str]:
        """Return the keys of the contexts that can be drawn, in order."""
        ...

    @property
    def rounds(self) -> int:
        """Return how often each may be drawn."""
        ...

    @property
    def counts(self) -> Mapping[str, int]:
        """Return the figures that ``run.json`` records of the agenda."""
        ...

    def offers(self, key: str, round_: int, past: Sequence[Past]) -> Mapping[str, tuple[Context, ...]]:
        """Return the contexts of an attempt by what could be wanted of it; nothing if there is nothing to ask now."""
        ...


@dataclass(frozen=True)
class Recipe:
    """One row of the table.

    Attributes:
        name: what the command line calls it.
        about: what it makes, in one sentence.
        options: its options with their defaults.
        program: makes the program.
        shares: how many samples of each evolution are wanted of a size, the plainest first.
        agenda: what can be asked of a corpus for so many samples.
        size: how many samples are made where nobody says; one for each key of the agenda if it is not set.
        min_length: shorter chunks are dropped where nobody says otherwise, in characters.
    """

    name: str
    about: str
    options: type[Options]
    program: Callable[[Tools, Any], Program]
    shares: Callable[[int, Any], Mapping[str, int]]
    agenda: Callable[[Material, Any, int], Agenda]
    size: int | None = 20
    min_length: int = 200

    @property
    def growing(self) -> Mapping[str, Sequence[Any]]:
        """Return the options that may be widened when a run is continued; see :class:`Options`."""
        return self.options.growing
