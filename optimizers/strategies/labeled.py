"""The strategy ``labeled``: sets of labelled demos, drawn by DSPy's LabeledFewShot and compared."""

import random

import dspy

from optimizers.strategies.base import DEMOS, Strategy, Task


def run(task: Task) -> None:
    """Race sets of labelled demos."""

    def drawn(number: int) -> dspy.Module:
        rows = list(task.demos)
        random.Random(f"{task.seed}/{number}").shuffle(rows)
        count = (DEMOS, DEMOS // 2)[number % 2]
        return dspy.LabeledFewShot(k=count).compile(task.copy(), trainset=rows, sample=False)

    task.race(drawn)


STRATEGY = Strategy("labeled", ("lm", "demos"), "any model; the first thing to try", run)
