"""Compiling one step with one strategy: before, what was tried, the best of it, and the test rows once."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import dspy

from optimizers.compilation import Compilation, told_of
from optimizers.ledger import Candidate, Ledger
from optimizers.power import detectable_gain
from optimizers.step import CriticStep, GeneratorStep
from optimizers.steps import COMPILABLE
from optimizers.steps.base import Judges
from optimizers.steps.examples import Examples
from optimizers.strategies.base import Strategy, Task
from programs.errors import LeakError, Stopped, StrategyError
from programs.nearest import Encode, Nearest
from programs.steps.demos import Demos

BUDGET, TEST, TRAIN = 1200, 40, 60
_FEWEST, _MOST = 24, 300  # dev rows where the wish names no number
_ROUNDS = 4  # candidates that the budget should be able to compare on all of them
_INTERRUPTED = "Interrupted: the best so far is kept"
_REPORTED = 24  # train rows: what they say is of interest beside the others only


@dataclass(frozen=True)
class Setting:
    """What a compile is made with.

    Attributes:
        adapter: renders prompts.
        critic: serves a step that decides; unused for one that writes.
        judges: who is asked about what a step writes.
        demos: the turns that steps start from.
        encode: embeds texts, for the strategy ``knn``.
        teacher: a second, larger model.
        budget: calls that the strategy may make beside the measurements before and after.
        seed: fixes what chance decides.
        dev: how many examples candidates are compared on; as many as labels hold and the budget allows by default, up
            to 300.
        test: how many are reported at the end; of train as many as of dev, at most 24.
    """

    adapter: Any
    critic: Any
    judges: Judges
    demos: Demos
    encode: Encode
    teacher: Any = None
    budget: int = BUDGET
    seed: int = 0
    dev: int | None = None
    test: int = TEST
    on_call: Callable[[], None] | None = None
    on_progress: Callable[[str], object] = field(default=str)


def dev_rows(step: str, examples: Examples, setting: Setting) -> list[dspy.Example]:
    """Return the examples that candidates are compared on."""
    wanted = setting.dev
    if wanted is None:
        wanted = min(_MOST, max(_FEWEST, setting.budget // (_ROUNDS * COMPILABLE[step].calls_for_one)))
    return examples.inputs["dev"][:wanted]


def foreseen_gain(step: str, rows: int) -> float:
    """Return the smallest gain that so many dev rows can see, by what was measured of the step before."""
    return detectable_gain(COMPILABLE[step].deviation, rows)


def estimated_calls(step: str, examples: Examples, setting: Setting) -> int:
    """Return how many calls a compile takes at most: before on dev, the strategy's budget, both on train and test."""
    dev = len(dev_rows(step, examples, setting))
    train = min(_REPORTED, dev, len(examples.inputs["train"]))
    measured = dev + 2 * (train + len(examples.inputs["test"][: setting.test]))
    return setting.budget + measured * COMPILABLE[step].calls_for_one


def compile_step(step: str, strategy: Strategy, examples: Examples, setting: Setting) -> Compilation:
    """Compile a step and return the best candidate on dev rows.

    Raises:
        StrategyError: the strategy lacks what it needs, or the labels hold too few examples.
        LeakError: an example of the test split is among those that are tried or shown.
    """
    if strategy.run is None:
        raise StrategyError(f"--optimizer {strategy.name} is no strategy for a language model.")
    train, dev = examples.inputs["train"][:TRAIN], dev_rows(step, examples, setting)
    test, demos = examples.inputs["test"][: setting.test], examples.demos["train"]
    refuse_test_examples([*train, *dev, *demos])
    strategy.check(step, demos=bool(demos), teacher=setting.teacher is not None)
    if not dev or not test:
        raise StrategyError(f"the labels hold {len(dev)} dev and {len(test)} test examples for {step}; add some.")
    compiling = COMPILABLE[step]
    ledger = Ledger(compiling.metric, setting.judges, setting.on_call)
    start = compiling.step.predictor(setting.demos.get(step, ()))
    student: GeneratorStep | CriticStep
    if compiling.step.decides:
        student = CriticStep(start, ledger, setting.critic)
    else:
        student = GeneratorStep(start, ledger, setting.adapter)
    task = Task(
        compiling=compiling,
        student=student,
        ledger=ledger,
        demos=demos,
        train=train,
        dev=dev,
        budget=setting.budget,
        seed=setting.seed,
        teacher=setting.teacher,
        encode=setting.encode,
    )
    seen = foreseen_gain(step, len(dev))
    setting.on_progress(
        f"Measuring {step} as it is on {len(dev)} examples, which can tell a gain of {seen:.2f} from noise"
    )
    with _failures_as_they_were(), dspy.context(max_history_size=0, max_errors=1):
        task.evaluate(student, dev[:1])  # what a first call loads says nothing about the others
        started = time.perf_counter()
        task.evaluate(student, dev[1:])
        each = (time.perf_counter() - started) / max(1, len(dev) - 1)
        minutes = each * (estimated_calls(step, examples, setting) - len(dev)) / 60
        setting.on_progress(f"Trying {strategy.name} within {setting.budget} calls; about {minutes:.0f} minutes to go")
        ending = _search(task, strategy, setting)
        before, best = ledger.candidates[0], ledger.best(dev)
        parts = {"dev": dev}
        if ending != "interrupted":
            parts = {"train": train[: min(_REPORTED, len(dev))], "dev": dev, "test": test}
            setting.on_progress(f"Reporting {len(parts['train'])} train and {len(test)} test examples")
        try:
            for candidate in {before.number: before, best.number: best}.values():
                program = _as_program(task, candidate, strategy)
                unseen = [example for rows in parts.values() for example in rows if example.id not in candidate.scores]
                task.evaluate(program, unseen)
        except KeyboardInterrupt:  # what dev rows say is known already
            setting.on_progress(_INTERRUPTED)
            ending, parts = "interrupted", {"dev": dev}
    return told_of(
        ledger, best, parts, start=start, decides=compiling.step.decides, ending=ending, adapter=setting.adapter
    )


def refuse_test_examples(examples: Sequence[dspy.Example]) -> None:
    """Raise if examples that are about to be tried or shown hold one of the test split.

    Raises:
        LeakError: names the first such example.
    """
    for example in examples:
        if example.split == "test":
            raise LeakError(f"example {example.id} belongs to the test split: it cannot be compiled with.")


@contextmanager
def _failures_as_they_were() -> Iterator[None]:
    """Raise what made a call fail, without the exception that carried it past DSPy."""
    try:
        yield
    except Stopped as stopped:
        if stopped.__cause__ is None:
            raise
        raise stopped.__cause__ from None


def _search(task: Task, strategy: Strategy, setting: Setting) -> str:
    """Run the strategy within the budget; what was tried until it ended is in the ledger."""
    task.ledger.budget = task.ledger.calls + task.budget
    try:
        if strategy.run is not None:
            strategy.run(task)
    except Stopped as stopped:
        if stopped.__cause__ is not None:
            raise
        return "budget"
    except KeyboardInterrupt:
        setting.on_progress(_INTERRUPTED)
        return "interrupted"
    finally:
        task.ledger.budget = None
    return "complete"


def _as_program(task: Task, candidate: Candidate, strategy: Strategy) -> GeneratorStep | CriticStep:
    program = task.copy()
    nearest = strategy.nearest if candidate.number else 0
    program.load(candidate.state, Nearest(nearest, task.encode) if nearest else None)
    return program
