"""The strategy ``reanchor``: the threshold of a critic, moved to where most labels of the train rows come out right."""

from typing import Any

import dspy

from optimizers.strategies.prompts import Task, prompt_strategy


def run(task: Task) -> None:
    """Drive DSPy's ReAnchor and evaluate what it finds."""

    def right(example: dspy.Example, prediction: Any, trace: Any = None) -> float:
        del trace
        return float(prediction.fit is example.fit)

    optimizer = dspy.experimental.ReAnchor(right, num_threads=1, require_cache=False)
    task.evaluate(optimizer.compile(task.student, trainset=list(task.train)))


STRATEGY = prompt_strategy("reanchor", (), "the critic lm, of 1.5B or more", run, "deciding")
