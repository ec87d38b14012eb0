"""The recipes that a user can pick, by name."""

from collections.abc import Callable, Mapping
from typing import Any

from programs.evolved import Evolved
from programs.types import Recipe, Retriever

RECIPES: dict[str, Callable[..., Recipe]] = {"evolved": Evolved}


def build_recipe(
    name: str,
    *,
    critic: Any,
    retriever: Retriever,
    candidates: int,
    max_rank: int,
    states: Mapping[str, dict[str, Any]] | None = None,
) -> Recipe:
    """Return a fresh program of the recipe called ``name``, with the compiled states of its steps.

    Raises:
        KeyError: if there is no such recipe.
    """
    program = RECIPES[name](critic=critic, retriever=retriever, candidates=candidates, max_rank=max_rank)
    for step, state in (states or {}).items():
        getattr(program, step).load_state(state)
    return program
