"""The strategy ``finetune``: weights trained on gold rows; :mod:`optimizers.finetuning` does it."""

from optimizers.strategies.base import Strategy

STRATEGY = Strategy("finetune", ("labels", "lm"), "a small model of the catalogue", None, "taught")
