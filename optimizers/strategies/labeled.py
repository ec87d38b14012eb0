"""The strategy ``labeled``: compare random sets of labelled demos, drawn by DSPy's LabeledFewShot.

They are added to the original demos, or replace those of the same language and kind.
"""

import dspy

from optimizers.steps.base import kind_of
from optimizers.strategies.prompts import DEMOS, Task, prompt_strategy
from optimizers.student import CriticStep, GeneratorStep


def run(task: Task) -> None:
    """Compare sets of labelled demos."""

    def drawn(number: int) -> GeneratorStep | CriticStep:
        rows = task.shuffled(task.demos, number)
        count = (DEMOS, DEMOS // 2)[number % 2]
        step: GeneratorStep | CriticStep
        step = dspy.LabeledFewShot(k=count).compile(task.copy(), trainset=rows, sample=False)
        if number // 2 % 2 and isinstance(step, GeneratorStep):
            step.drop_replaced_demos(kind_of)
        return step

    task.race(drawn)


STRATEGY = prompt_strategy("labeled", ("demos",), "any model; the first thing to try", run)
