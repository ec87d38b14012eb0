"""The recipes that a user can pick, by name."""

from collections.abc import Callable
from typing import Any

from programs.evolved import Evolved
from programs.types import Recipe, Retriever

RECIPES: dict[str, Callable[..., Recipe]] = {"evolved": Evolved}


def build_recipe(name: str, *, critic: Any, retriever: Retriever, candidates: int, max_rank: int) -> Recipe:
    """Return a fresh program of the recipe called ``name``.

    Raises:
        KeyError: if there is no such recipe.
    """
    return RECIPES[name](critic=critic, retriever=retriever, candidates=candidates, max_rank=max_rank)
