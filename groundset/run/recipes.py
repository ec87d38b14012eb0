"""Recipes: the programs that make samples, as users pick them with ``--recipe``. To add one, add a
row.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from groundset.files import data_path
from groundset.programs.forms import FORMS, MULTI, PERSONA, SIMPLE

if TYPE_CHECKING:
    import dspy

    from groundset.programs.recipe import Search
    from groundset.run.options import GenerateOptions

PROFILED, GIVEN = "profiled", "given"


class RecipeSpec(NamedTuple):
    """One row of the table.

    ``build`` returns the programs by the kind of attempt: ``one`` chunk, ``several``, a ``clue`` of
    a chunk, or a ``given`` question. It gets the options with their defaults resolved, and the
    search of passages.
    """

    build: "Callable[[GenerateOptions, Search], dict[str, dspy.Module]]"
    forms: tuple[str, ...] = FORMS  # that --mix can choose from
    mix: Mapping[str, float] = MappingProxyType(
        {SIMPLE: 0.6, "reasoning": 0.15, "conditional": 0.15, MULTI: 0.1}
    )
    rounds: int = 6  # how often a chunk is visited at most
    once: bool = False  # a chunk with a good question is not visited again
    size: int | None = 20  # the default of --size; None for one sample of each chunk
    merge: int = 1  # the default of --merge
    judges_chunks: bool = True
    keeps: bool = False  # a question is kept at the last visit though the judge refuses it


def _one(options: "GenerateOptions", search: "Search") -> "dict[str, dspy.Module]":
    from groundset.programs.onechunk import OneChunk

    users = options.asking
    return {"one": OneChunk(search, panel=options.panel, about=options.about, users=users)}


def _several(options: "GenerateOptions", search: "Search") -> "dict[str, dspy.Module]":
    from groundset.programs.chunks import SeveralChunks

    users = options.asking
    return {"several": SeveralChunks(search, panel=options.panel, about=options.about, users=users)}


def _evolved(options: "GenerateOptions", search: "Search") -> "dict[str, dspy.Module]":
    return _one(options, search) | (_several(options, search) if options.mix.get(MULTI) else {})


def _profiled(options: "GenerateOptions", search: "Search") -> "dict[str, dspy.Module]":
    from groundset.programs.profiled import Profiled, read_profiles

    table = read_profiles(options.profile_file or data_path("profiles", "default.json"))
    program = Profiled(
        search,
        table,
        clues=options.clues,
        top_k=options.top_k,
        profiles=options.profiles,
        panel=options.panel,
        about=options.about,
    )
    return {"clue": program}


def _given(options: "GenerateOptions", search: "Search") -> "dict[str, dspy.Module]":
    from groundset.programs.given import Given

    return {GIVEN: Given(search, about=options.about, read=options.read)}


RECIPES: Mapping[str, RecipeSpec] = {
    "evolved": RecipeSpec(_evolved),
    "single": RecipeSpec(_one, (SIMPLE, PERSONA), {SIMPLE: 1}, once=True),
    "multi": RecipeSpec(_several, (MULTI,), {MULTI: 1}),
    PROFILED: RecipeSpec(_profiled, (PROFILED,), {PROFILED: 1}, rounds=5, merge=3),
    "roundtrip": RecipeSpec(
        _one,
        (SIMPLE,),
        {SIMPLE: 1},
        rounds=3,
        once=True,
        size=None,
        judges_chunks=False,
        keeps=True,
    ),
    GIVEN: RecipeSpec(_given, (SIMPLE,), {SIMPLE: 1}, size=None, judges_chunks=False),
}
