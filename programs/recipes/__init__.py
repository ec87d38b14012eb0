"""The recipes that a user can pick, by name."""

from collections.abc import Mapping

from programs.recipes import evolved, multi, roundtrip, single
from programs.recipes.base import Recipe

RECIPES: Mapping[str, Recipe] = {module.RECIPE.name: module.RECIPE for module in (evolved, single, multi, roundtrip)}
