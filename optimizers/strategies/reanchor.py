"""The strategy ``reanchor``: move the threshold of a critic to maximize accuracy on train rows."""

from typing import Any

import dspy

from optimizers.strategies.prompts import Task, prompt_strategy


def run(task: Task) -> None:
    """Run DSPy's ReAnchor and evaluate its result."""

    def correct(example: dspy.Example, prediction: Any, trace: Any = None) -> float:
        del trace
        return float(prediction.fit is example.fit)

    optimizer = dspy.experimental.ReAnchor(correct, num_threads=1, require_cache=False)
    task.evaluate(optimizer.compile(task.student, trainset=list(task.train)))


STRATEGY = prompt_strategy("reanchor", (), "the critic lm, of 1.5B or more", run, "deciding")
