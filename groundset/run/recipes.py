"""Recipes: the programs that make samples, as users pick them with ``--recipe``. To add one, add a
row.
"""

import inspect
from collections.abc import Callable, Mapping
from pkgutil import resolve_name
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from groundset.programs.forms import EVOLUTIONS, FORMS, MULTI, PERSONA, SIMPLE, UNANSWERABLE

if TYPE_CHECKING:
    import dspy

GIVEN = "given"
GUIDED = "guided"  # is compiled like a recipe, and makes those of other ones
_ONE, _SEVERAL = "groundset.programs.onechunk:OneChunk", "groundset.programs.chunks:SeveralChunks"
# Options that only some recipes have.
_WRITES = ("about", "chunk_critic", "critic", "hard", "language", "max_rank")
_GUIDED = (GUIDED, "parser")
_PUT = ("users", "like", "prefer")
_MIXED = ("answers", "kinds", "mix")


class Cost(NamedTuple):
    """What an accepted sample took where it was measured, with all that was refused on the way."""

    calls: float
    prompt_tokens: int
    generated_tokens: int
    source: str
    seconds: float = 0.0


# benchmarks/README.md; what a strong model generates was not counted: 80 tokens a call, a little
# more than its demos.
_FREE = Cost(
    5.0,
    4_100,
    290,
    "a strong model's stand-in and the default recipe, 24 samples of 25 documents",
)
_READS = Cost(
    8,
    6_470,
    640,
    "a strong model's stand-in, 28 questions about 24 documents, half of them answered",
)


class RecipeSpec(NamedTuple):
    """One row of the table.

    ``programs`` are classes by the form of question that they make, and ``""`` for all other ones.
    One is built with the options that its parameters name, and called with the inputs that its
    ``forward`` names, of those in ``groundset/run/attempts.py``.
    """

    programs: Mapping[str, str]
    takes: tuple[str, ...]  # its options, of those that only some recipes have
    forms: tuple[str, ...] = FORMS  # that --mix can choose from
    mix: Mapping[str, float] = MappingProxyType(
        {SIMPLE: 0.7, "reasoning": 0.15, "conditional": 0.15}
    )
    rounds: int = 6  # how often a chunk is visited at most
    once: bool = False  # a chunk with a good question is not visited again
    size: int | None = 20  # the default of --size; None for one sample of each chunk
    judges_chunks: bool = True
    suits_small: bool = False  # small models make it as others do, and are not guided
    cost: Cost = _FREE

    def build(self, values: Mapping[str, Any]) -> "dict[str, dspy.Module]":
        """Return its programs by form, from options with their defaults resolved, and what else
        they may take.
        """
        built = {}
        for form, name in self.programs.items():
            if not form or values["mix"].get(form):
                program = resolve_name(name)
                taken = (each.name for each in _parameters(program))
                built[form] = program(**{each: values[each] for each in taken})
        return built


def inputs_of(program: "dspy.Module") -> set[str]:
    """Return the inputs that a program names; where it takes any, also those of the program that it
    extends.
    """
    named: set[str] = set()
    for each in type(program).__mro__:
        if forward := vars(each).get("forward"):
            parameters = inspect.signature(forward).parameters
            named |= parameters.keys()
            if all(taken.kind != taken.VAR_KEYWORD for taken in parameters.values()):
                break
    return named


def _parameters(program: "type[dspy.Module]") -> list[inspect.Parameter]:
    _, *taken = inspect.signature(program.__init__).parameters.values()
    return taken


RECIPES: Mapping[str, RecipeSpec] = {
    "evolved": RecipeSpec(
        {"": _ONE, MULTI: _SEVERAL},
        (*_WRITES, *_GUIDED, *_PUT, *_MIXED, "personas"),
    ),
    "single": RecipeSpec(
        {"": _ONE},
        (*_WRITES, *_GUIDED, *_PUT, *_MIXED, "personas"),
        (SIMPLE, PERSONA),
        {SIMPLE: 1},
        once=True,
    ),
    "staged": RecipeSpec(
        {"": "groundset.programs.staged:Staged"},
        (*_WRITES, *_PUT, *_MIXED),
        tuple(name for name, row in EVOLUTIONS.items() if row.form and name != UNANSWERABLE),
        {SIMPLE: 0.4, "reasoning": 0.3, "conditional": 0.3},
        rounds=5,
        suits_small=True,
    ),
    "multi": RecipeSpec(
        {MULTI: _SEVERAL},
        (*_WRITES, *_GUIDED, *_PUT, "answers"),
        (MULTI,),
        {MULTI: 1},
    ),
    "roundtrip": RecipeSpec(
        {"": _ONE},
        (*_WRITES, *_GUIDED, *_PUT),
        (SIMPLE,),
        {SIMPLE: 1},
        rounds=3,
        once=True,
        size=None,
        judges_chunks=False,
    ),
    GIVEN: RecipeSpec(
        {"": "groundset.programs.given:Given"},
        ("about", "prefer", "read", "reranker"),
        (SIMPLE,),
        {SIMPLE: 1},
        size=None,
        judges_chunks=False,
        cost=_READS,
    ),
}


def recipes_with(option: str) -> tuple[str, ...]:
    """Return the recipes that have an option; none for one that all have."""
    return tuple(name for name, row in RECIPES.items() if option in row.takes)


def compiled_whole() -> "dict[str, Callable[[], dspy.Module]]":
    """Return the programs of the recipes that can be compiled, which need nothing to be built."""
    found = {}
    for name, row in RECIPES.items():
        program = resolve_name(next(iter(row.programs.values())))
        if all(each.default is not each.empty for each in _parameters(program)):
            found[name] = program
    return found
