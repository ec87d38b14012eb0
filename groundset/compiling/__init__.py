"""Compiling steps with the labels that groundset ships and the user's own, into a folder of states."""

from groundset.compiling.heads import compile_heads
from groundset.compiling.steps import compile_with_model

__all__ = ["compile_heads", "compile_with_model"]
