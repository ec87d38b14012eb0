"""The recipes that a user can pick, by name."""

from collections.abc import Callable, Mapping
from typing import Any

from programs.critics import Critic
from programs.evolved import Evolved
from programs.languages.table import Languages
from programs.nearest import Select
from programs.steps.demos import Demos
from programs.types import Recipe, Retriever

RECIPES: dict[str, Callable[..., Recipe]] = {"evolved": Evolved}


def build_recipe(
    name: str,
    *,
    critics: Mapping[str, Critic],
    retriever: Retriever,
    languages: Languages,
    candidates: int,
    max_rank: int,
    demos: Demos,
    states: Mapping[str, dict[str, Any]] | None = None,
    selects: Mapping[str, Select] | None = None,
    only_easy: bool = False,
) -> Recipe:
    """Return a fresh program of the recipe called ``name``, with the compiled states of its steps.

    ``demos`` are the turns that steps without a state start from, ``selects`` chooses among the demos of a step for
    each of its inputs, and with ``only_easy`` nothing is asked that syntax does not begin a question for.

    Raises:
        KeyError: if there is no such recipe.
    """
    program = RECIPES[name](
        critics=critics,
        retriever=retriever,
        languages=languages,
        candidates=candidates,
        max_rank=max_rank,
        demos=demos,
        selects=selects,
        only_easy=only_easy,
    )
    for step, state in (states or {}).items():
        getattr(program, step).load_state(state)
    return program
