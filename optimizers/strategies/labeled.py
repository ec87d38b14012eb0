"""The strategy ``labeled``: sets of labelled demos, drawn by DSPy's LabeledFewShot and compared.

They are shown beside those that the step starts from, or each in the place of one of the same language and kind.
"""

import dspy

from optimizers.steps.base import kind_of
from optimizers.strategies.prompts import DEMOS, Task, prompt_strategy
from optimizers.student import CriticStep, GeneratorStep


def run(task: Task) -> None:
    """Race sets of labelled demos."""

    def drawn(number: int) -> GeneratorStep | CriticStep:
        rows = task.shuffled(task.demos, number)
        count = (DEMOS, DEMOS // 2)[number % 2]
        shown: GeneratorStep | CriticStep
        shown = dspy.LabeledFewShot(k=count).compile(task.copy(), trainset=rows, sample=False)
        if number // 2 % 2 and isinstance(shown, GeneratorStep):
            shown.give_way(kind_of)
        return shown

    task.race(drawn)


STRATEGY = prompt_strategy("labeled", ("demos",), "any model; the first thing to try", run)
