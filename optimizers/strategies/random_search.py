"""The strategy ``random-search``: demos that the model itself wrote well enough, mixed with labelled ones."""

import dspy

from optimizers.strategies.prompts import BOOTSTRAPPED, DEMOS, GOOD_ENOUGH, Task, prompt_strategy

_FEWEST = 2 * DEMOS  # rows that demos are drawn from


def run(task: Task) -> None:
    """Drive DSPy's BootstrapFewShotWithRandomSearch.

    The step as it was writes the demos of all candidates, so that each is written once; at most a quarter of the
    budget waits for good ones.
    """
    rows = task.shuffled(task.written_for)[: max(_FEWEST, task.budget // (4 * task.compiling.calls_per_example))]
    writer = task.copy()
    writer._compiled = True  # or DSPy gives it labelled demos, other ones for each candidate
    optimizer = dspy.BootstrapFewShotWithRandomSearch(
        metric=task.ledger.metric,
        teacher_settings={"lm": task.teacher} if task.teacher is not None else {},
        metric_threshold=GOOD_ENOUGH,
        max_bootstrapped_demos=BOOTSTRAPPED,
        max_labeled_demos=DEMOS if task.written_for is task.demos else 0,
        num_candidate_programs=task.rounds,
        num_threads=1,
        max_errors=1,
    )
    # Two of its own candidates are left out: no demos at all, and labelled ones alone, which `labeled` compares.
    optimizer.compile(
        task.student, teacher=writer, trainset=rows, valset=list(task.dev), restrict=range(-1, task.rounds)
    )


STRATEGY = prompt_strategy("random-search", (), "models that write at least one good output in two", run)
