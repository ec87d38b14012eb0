"""Compiling steps into a folder of states, with shipped labels and the user's.

``open_recipe`` opens a whole recipe for DSPy's optimizers. It is imported lazily, because the command line imports the
options from this package.
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
