"""Compiling steps with the labels that groundset ships and the user's own, into a folder of states."""

from groundset.compiling.ensembles import compile_ensemble
from groundset.compiling.heads import compile_heads
from groundset.compiling.steps import Compiler, Listener, Wish
from groundset.compiling.whole import OpenedRecipe, open_recipe

__all__ = ["Compiler", "Listener", "OpenedRecipe", "Wish", "compile_ensemble", "compile_heads", "open_recipe"]
