"""The strategy ``knn``: each call adds the labelled demos nearest to its input to the original demos."""

from optimizers.strategies.prompts import Task, prompt_strategy
from optimizers.student import GeneratorStep
from programs.nearest import ALWAYS, Nearest

_POOL = 32
_NEAREST = 4


def run(task: Task) -> None:
    """Add a pool of demos to the step and evaluate it."""
    copied = task.copy()
    if isinstance(copied, GeneratorStep):  # always true, as the strategy supports writing steps only
        copied.select = Nearest(_NEAREST, task.encode)
        copied.kept = tuple(demo.copy(**{ALWAYS: True}) for demo in copied.kept)
    copied.predict.demos = task.shuffled(task.demos)[:_POOL]
    task.evaluate(copied)


STRATEGY = prompt_strategy("knn", ("demos",), "servers that are quick to read prompts", run, "writing", _NEAREST)
