"""The strategy ``fit-ensemble``: head and language model weighed together; :mod:`optimizers.ensemble` does it."""

from optimizers.strategies.base import Strategy

STRATEGY = Strategy("fit-ensemble", ("labels", "lm"), "judge, with a model of 1.5B or more", None, "judge")
