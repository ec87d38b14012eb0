"""The strategy ``fit-head``: classifiers fitted to labels; :mod:`optimizers.compile_head` does it."""

from optimizers.strategies.base import Strategy

STRATEGY = Strategy("fit-head", ("labels",), "steps that decide, without any language model", None, "fitted")
