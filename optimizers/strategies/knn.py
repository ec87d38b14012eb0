"""The strategy ``knn``: a pool of labelled demos, of which each call takes those nearest to its input.

They are shown after those that the step starts from, which each call keeps.
"""

from optimizers.strategies.prompts import Task, prompt_strategy
from optimizers.student import GeneratorStep
from programs.nearest import ALWAYS, Nearest

_POOL = 32
_NEAREST = 4


def run(task: Task) -> None:
    """Give the step the pool and evaluate it."""
    copied = task.copy()
    if isinstance(copied, GeneratorStep):  # which it is, or the step would have been refused
        copied.select = Nearest(_NEAREST, task.encode)
        copied.kept = tuple(demo.copy(**{ALWAYS: True}) for demo in copied.kept)
    copied.predict.demos = task.shuffled(task.demos)[:_POOL]
    task.evaluate(copied)


STRATEGY = prompt_strategy("knn", ("demos",), "servers that are quick to read prompts", run, "writing", _NEAREST)
