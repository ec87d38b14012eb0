"""The strategy ``random-search``: compare sets of bootstrapped and labelled demos."""

import dspy

from optimizers.strategies.prompts import BOOTSTRAPPED, DEMOS, GOOD_ENOUGH, Task, prompt_strategy

_FEWEST = 2 * DEMOS  # rows that demos are drawn from


def run(task: Task) -> None:
    """Run DSPy's BootstrapFewShotWithRandomSearch.

    The original step writes the demos of all candidates, so that each is written once. At most a quarter of the budget
    goes to bootstrapping.
    """
    rows = task.shuffled(task.bootstrap_rows)[: max(_FEWEST, task.budget // (4 * task.compiling.calls_per_example))]
    writer = task.copy()
    writer._compiled = True  # else DSPy adds labelled demos to it, others for each candidate
    optimizer = dspy.BootstrapFewShotWithRandomSearch(
        metric=task.ledger.metric,
        teacher_settings={"lm": task.teacher} if task.teacher is not None else {},
        metric_threshold=GOOD_ENOUGH,
        max_bootstrapped_demos=BOOTSTRAPPED,
        max_labeled_demos=DEMOS if task.bootstrap_rows is task.demos else 0,
        num_candidate_programs=task.rounds,
        num_threads=1,
        max_errors=1,
    )
    # Skips two candidates of DSPy: no demos, and labelled demos only, which `labeled` compares.
    optimizer.compile(
        task.student, teacher=writer, trainset=rows, valset=list(task.dev), restrict=range(-1, task.rounds)
    )


STRATEGY = prompt_strategy("random-search", (), "models that write at least one good output in two", run)
