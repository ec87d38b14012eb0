"""Compiling steps with the labels that groundset ships and the user's own, into a folder of states.

From Python a whole recipe is compiled with ``open_recipe``, which is imported when it is first asked for: the command
line reads the options from here.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from groundset.compiling.recipe import OpenedRecipe, open_recipe

__all__ = ["OpenedRecipe", "open_recipe"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from groundset.compiling import recipe

    return getattr(recipe, name)
