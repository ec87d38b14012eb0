"""The strategy ``fit-head``: classifiers fitted to labels; :mod:`optimizers.compile_head` does it."""

from optimizers.strategies.base import Strategy

STRATEGY = Strategy("fit-head", ("labels",), "chunk and judge, without any language model", None, "deciding")
