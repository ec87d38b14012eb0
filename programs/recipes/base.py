"""Recipes: a program with its options, and an agenda of what it can ask about a corpus."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol, Self, overload

from pydantic import BaseModel, ConfigDict, Field

from programs.languages.table import Languages
from programs.modes import MODES, Mode
from programs.tools import Tools
from programs.types import Chunk, Context, Focus, Hit, Program


class Options(BaseModel):
    """The options of one recipe; the description of a field is its help on the command line.

    ``growing`` names the options that may be widened when a run is continued, with their values ordered from narrowest
    to widest.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    growing: ClassVar[Mapping[str, Sequence[Any]]] = {}

    def compared(self) -> dict[str, Any]:
        """Return the options that must stay the same when a run is continued."""
        return self.model_dump(mode="json", exclude=set(self.growing))

    def in_mode(self, mode: Mode) -> Self:
        """Return the options with the defaults of a mode.

        Raises:
            ValueError: the mode does not support an option; the message names it.
        """
        del mode
        return self

    def limits(self, size: int) -> Mapping[str, int]:
        """Return the most samples of each kind of question in a set of this size, for kinds that have a limit."""
        del size
        return {}


class AnsweredOptions(Options):
    """The options of recipes that check answers."""

    answer_variants: int = Field(
        default=0,
        ge=0,
        le=10,
        description="Write up to this many other wordings of each answer; those that say the same and are supported by "
        "the passage become further reference answers.",
    )


@dataclass(frozen=True)
class Material:
    """The data that an agenda is built from.

    Attributes:
        contexts: every chunk of the run with its analysis, in the order in which chunks are drawn. The analysis may
            still go on: then an item is waited for, and the first ones are ready first.
        near: returns the nearest neighbours of a chunk, by its id and a limit, the nearest first.
        languages: the known languages.
        mode: the mode of the run.
        chunks: every chunk of the run, analysed or not; by default those of ``contexts``.
    """

    contexts: Sequence[Context]
    near: Callable[[str, int], Sequence[Hit]]
    languages: Languages
    mode: Mode = MODES["guided"]
    chunks: Sequence[Chunk] = ()


class Past(NamedTuple):
    """An earlier attempt on the same contexts.

    Attributes:
        wanted: the evolution that was wanted.
        foci: the foci that were asked about.
        accepted: the evolution of the accepted sample, None if there was none.
        exhausted: whether no further attempt can succeed.
        postponed: whether it gave a good question whose quota was full.
    """

    wanted: str
    foci: tuple[Focus, ...]
    accepted: str | None
    exhausted: bool
    postponed: bool = False


class LazyKeys(Sequence[str]):
    """Keys that are determined one after the other, when they are asked for."""

    def __init__(self, determine: Callable[[], str | None]) -> None:
        """Start without keys; ``determine`` returns the next one, None after the last."""
        self._determine = determine
        self._keys: list[str] = []
        self._are_complete = False

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...

    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        """Return a key by its position, or several by a slice."""
        is_near = isinstance(index, int) and index >= 0
        self._extend(index + 1 if isinstance(index, int) and is_near else None)
        return self._keys[index]

    def __len__(self) -> int:
        """Return how many keys there are, once all are determined."""
        self._extend(None)
        return len(self._keys)

    def _extend(self, count: int | None) -> None:
        """Determine the first ``count`` keys, or all."""
        while not self._are_complete and (count is None or len(self._keys) < count):
            key = self._determine()
            if key is None:
                self._are_complete = True
            else:
                self._keys.append(key)


class Agenda(Protocol):
    """The attempts that a recipe can make on a corpus, determined without a model."""

    @property
    def keys(self) -> Sequence[str]:
        """Return the keys of the contexts, in the order in which they are drawn.

        In the first round only the keys drawn so far are read, so they may be lazy.
        """
        ...

    @property
    def rounds(self) -> int:
        """Return how often each key is drawn at most."""
        ...

    @property
    def counts(self) -> Mapping[str, int]:
        """Return the counts for ``run.json``."""
        ...

    def offers(self, key: str, round_: int, past: Sequence[Past]) -> Mapping[str, tuple[Context, ...]]:
        """Return the possible attempts: the contexts by evolution; empty if there is nothing to ask in this round."""
        ...


@dataclass(frozen=True)
class Recipe:
    """One row of the table.

    Attributes:
        name: its name in ``--recipe``.
        about: one sentence for the help and the documentation.
        options: its options with their defaults.
        program: builds the program.
        shares: how many samples of each evolution a set of some size has, the simplest evolution first.
        agenda: builds the agenda for a number of samples.
        size: the default of ``--size``; None for one sample per key of the agenda.
        min_length: the default of ``--min-length``.
        merge: the default of ``--merge``.
    """

    name: str
    about: str
    options: type[Options]
    program: Callable[[Tools, Any], Program]
    shares: Callable[[int, Any], Mapping[str, int]]
    agenda: Callable[[Material, Any, int], Agenda]
    size: int | None = 20
    min_length: int = 200
    merge: int = 1

    @property
    def growing(self) -> Mapping[str, Sequence[Any]]:
        """Return the options that may be widened when a run is continued; see :class:`Options`."""
        return self.options.growing
