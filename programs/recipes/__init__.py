"""The recipes, one file each."""

from collections.abc import Mapping

from programs.discover import discover
from programs.recipes.base import Recipe

RECIPES: Mapping[str, Recipe] = discover("programs.recipes", "RECIPE", Recipe)
