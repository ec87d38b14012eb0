"""The strategy ``mipro``: search instructions written by a teacher together with demos."""

import dspy

from optimizers.strategies.prompts import BOOTSTRAPPED, DEMOS, GOOD_ENOUGH, Task, prompt_strategy


def run(task: Task) -> None:
    """Run DSPy's MIPROv2."""
    optimizer = dspy.MIPROv2(
        metric=task.ledger.metric,
        prompt_model=task.teacher,
        task_model=dspy.settings.lm,
        auto=None,
        num_candidates=max(2, min(6, task.rounds)),
        max_bootstrapped_demos=BOOTSTRAPPED,
        max_labeled_demos=DEMOS if task.bootstrap_rows is task.demos else 0,
        metric_threshold=GOOD_ENOUGH,
        num_threads=1,
        max_errors=1,
        seed=task.seed,
    )
    optimizer.compile(
        task.student,
        trainset=list(task.bootstrap_rows),
        valset=list(task.dev),
        num_trials=max(2, task.rounds),
        minibatch=False,
    )


STRATEGY = prompt_strategy("mipro", ("teacher",), "with a second model of 7B or more that writes the instructions", run)
