"""Compiling the prompt of a step: measure the original step, search candidates, report the best on test rows.

Strategies differ only in their search; :func:`prompt_strategy` builds a strategy from one.
"""

import io
import logging
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import dspy

from optimizers.ledger import Candidate, Ledger
from optimizers.measures import detectable_gain
from optimizers.prompt_report import prompt_report
from optimizers.report import CompileReport
from optimizers.steps import COMPILABLE
from optimizers.steps.base import Compiling
from optimizers.steps.examples import Examples
from optimizers.strategies.base import Need, Resources, Strategy
from optimizers.student import CriticStep, GeneratorStep
from programs.critics.logprobs import LogprobCritic
from programs.critics.verdict import VerdictCritic
from programs.errors import LeakError, Stopped, StrategyError
from programs.nearest import Encode, Nearest

DEMOS = 6  # maximum of labelled demos per candidate
BOOTSTRAPPED = 4  # maximum of demos written by the model
GOOD_ENOUGH = 0.5  # least score of a bootstrapped demo
_HEAT = 16  # least number of dev rows before candidates are dropped
_FINALISTS = 4  # one in so many candidates is compared on all dev rows
_TRAIN = 60
_FEWEST, _MOST = 24, 300  # dev rows by default
_ROUNDS = 4  # candidates that the budget should cover on all dev rows
_REPORTED = 24  # train rows in the report
_INTERRUPTED = "Interrupted: the best candidate so far is kept"


@dataclass(frozen=True)
class Task:
    """The input of a search.

    The ledger scores outputs and records candidates. ``demos`` are train examples with outputs, ``train`` those to
    optimize on, and candidates are compared on ``dev``.
    """

    compiling: Compiling
    student: GeneratorStep | CriticStep
    ledger: Ledger
    demos: Sequence[dspy.Example]
    train: Sequence[dspy.Example]
    dev: Sequence[dspy.Example]
    budget: int
    seed: int
    teacher: Any
    encode: Encode

    @property
    def bootstrap_rows(self) -> Sequence[dspy.Example]:
        """Return the train examples to bootstrap demos from: those with outputs if there are enough."""
        return self.demos if len(self.demos) >= DEMOS else self.train

    @property
    def rounds(self) -> int:
        """Return how many candidates the budget covers on dev, at least one."""
        return max(1, self.budget // max(1, len(self.dev)))

    def shuffled(self, rows: Sequence[dspy.Example], number: int | None = None) -> list[dspy.Example]:
        """Return shuffled examples; each number gives another order."""
        order = list(rows)
        random.Random(self.seed if number is None else f"{self.seed}/{number}").shuffle(order)
        return order

    def race(self, candidate: Callable[[int], GeneratorStep | CriticStep]) -> None:
        """Compare as many candidates as the budget allows: all on a part of dev, the best of them on the rest.

        One round of successive halving (Jamieson and Talwalkar 2016). ``candidate`` builds one by its number. If dev is
        too small to split, all candidates run on all of it.
        """
        heat = max(_HEAT, len(self.dev) // 3)
        heat = heat if 2 * heat <= len(self.dev) else len(self.dev)
        rest = len(self.dev) - heat
        rows = self.budget * len(self.dev) / self.ledger.calls  # at the calls per row of the original step
        count = max((n for n in range(1, self.budget) if n * heat + max(1, n // _FINALISTS) * rest <= rows), default=1)
        programs = [candidate(number) for number in range(count)]
        for program in programs:
            self.evaluate(program, self.dev[:heat])
        ranked = [(program.candidate().mean(self.dev[:heat]), program) for program in programs]
        ranked.sort(key=lambda pair: pair[0] or 0.0, reverse=True)
        for _, program in ranked[: max(1, count // _FINALISTS)]:
            self.evaluate(program, self.dev[heat:])

    def evaluate(self, program: dspy.Module, examples: Sequence[dspy.Example] | None = None) -> None:
        """Run a candidate on dev or other examples; the ledger records its scores."""
        for example in self.dev if examples is None else examples:
            self.ledger.metric(example, program(**example.inputs()))

    def copy(self) -> GeneratorStep | CriticStep:
        """Return a copy of the student."""
        copied: GeneratorStep | CriticStep = self.student.deepcopy()
        return copied


Search = Callable[[Task], None]  # runs an optimizer; the ledger records its candidates


def prompt_strategy(
    name: str,
    needs: tuple[Need, ...],
    suits: str,
    search: Search,
    steps: Literal["all", "writing", "deciding"] = "all",
    nearest: int = 0,
) -> Strategy:
    """Build a strategy that compiles prompts; ``nearest`` is how many demos each call selects, 0 for all."""
    run = partial(compile_prompts, name, search, nearest)
    return Strategy(name, ("labels", "embedder", "lm", *needs), suits, run, steps)


def compile_prompts(
    optimizer: str, search: Search, nearest: int, steps: Sequence[str], resources: Resources
) -> Iterator[CompileReport]:
    """Compile the prompts of steps one after the other; after Ctrl-C the best candidate so far is reported.

    Raises:
        OptimizerError: the labels have too few examples.
        LeakError: train, dev or demos contain an example of the test split.
    """
    _ = resources.judges, resources.teacher  # fail before the journal is created
    for step in steps:
        yield _compile_prompt(step, optimizer, search, nearest, resources)


def _compile_prompt(step: str, optimizer: str, search: Search, nearest: int, resources: Resources) -> CompileReport:
    model, listener, examples = resources.model, resources.listener, resources.examples(step)
    teacher = resources.teacher
    parameters = {"budget": resources.budget, "seed": resources.seed, "teacher": teacher.name if teacher else None}
    resources.begin(step, model.name, parameters)
    listener.start(step, estimated_calls(step, examples, resources))
    before = model.usage()
    with _quiet(resources.verbose), dspy.context(lm=model.lm):
        task, start = _task_of(step, examples, resources)
        trying = f"Trying {optimizer} within {task.budget} calls"
        best, parts, ending = _compared(task, search, nearest, trying, resources)
    report = prompt_report(
        task.compiling,
        task.ledger,
        best,
        parts,
        start=start,
        adapter=model.adapter,
        nearest=nearest,
        record={**resources.sources, "rows": {name: len(rows) for name, rows in examples.inputs.items()}, **parameters},
        used={key: value - before[key] for key, value in model.usage().items()},
        model=model.name,
        model_sha256=model.sha256,
        optimizer=optimizer,
    )
    return replace(report, parameters=parameters, ending=ending)


def dev_rows(step: str, examples: Examples, resources: Resources) -> list[dspy.Example]:
    """Return the examples that candidates are compared on."""
    count = resources.dev
    if count is None:
        count = min(_MOST, max(_FEWEST, resources.budget // (_ROUNDS * COMPILABLE[step].calls_per_example)))
    return examples.inputs["dev"][:count]


def estimated_calls(step: str, examples: Examples, resources: Resources) -> int:
    """Return the maximum number of calls of a compile: budget and measurements."""
    dev = len(dev_rows(step, examples, resources))
    train = min(_REPORTED, dev, len(examples.inputs["train"]))
    measured = dev + 2 * (train + len(examples.inputs["test"][: resources.test]))
    return resources.budget + measured * COMPILABLE[step].calls_per_example


def _task_of(step: str, examples: Examples, resources: Resources) -> tuple[Task, dspy.Predict]:
    """Build the task of a search, and the predictor that it starts from."""
    compiling, model, listener = COMPILABLE[step], resources.model, resources.listener
    train, dev, demos = examples.inputs["train"][:_TRAIN], dev_rows(step, examples, resources), examples.demos["train"]
    for example in (*train, *dev, *demos):
        if example.split == "test":
            raise LeakError(f"example {example.id} is in the test split; compile with rows of train and dev only")
    test = len(examples.inputs["test"])
    if not dev or not test:
        raise StrategyError(f"too few examples for {step}: {len(dev)} dev and {test} test rows; add some with --labels")
    ledger = Ledger(compiling.metric, resources.judges, listener.call)
    start = compiling.step.predictor(resources.demos.get(step, ()))
    student: CriticStep | GeneratorStep
    if compiling.step.gives_reasons:
        student = CriticStep(start, ledger, VerdictCritic(model.lm, step))
    elif compiling.step.decides:
        student = CriticStep(start, ledger, LogprobCritic(model.lm))
    else:
        student = GeneratorStep(start, ledger, model.adapter)
    task = Task(
        compiling=compiling,
        student=student,
        ledger=ledger,
        demos=demos,
        train=train,
        dev=dev,
        budget=resources.budget,
        seed=resources.seed,
        teacher=None if resources.teacher is None else resources.teacher.lm,
        encode=resources.encoder.encode,
    )
    return task, start


def _compared(
    task: Task, search: Search, nearest: int, trying: str, resources: Resources
) -> tuple[Candidate, dict[str, Sequence[dspy.Example]], str]:
    """Search, and return the best candidate, the examples it was compared on, and the ending."""
    say, dev, step = resources.listener.say, task.dev, task.compiling.step.name
    gain = detectable_gain(task.compiling.deviation, len(dev))
    say(f"Measuring the original {step} on {len(dev)} examples; minimum detectable gain {gain:.2f}")
    with _unwrapped_failures(), dspy.context(max_history_size=0, max_errors=1):
        task.evaluate(task.student, dev[:1])  # not timed: the first call may load the model
        started = time.perf_counter()
        task.evaluate(task.student, dev[1:])
        seconds = (time.perf_counter() - started) / max(1, len(dev) - 1)
        minutes = seconds * (estimated_calls(step, resources.examples(step), resources) - len(dev)) / 60
        say(f"{trying}; about {minutes:.0f} minutes left")
        ending = _search(task, search, say)
        before, best = task.ledger.candidates[0], task.ledger.best(dev)
        parts: dict[str, Sequence[dspy.Example]] = {"dev": dev}
        if ending != "interrupted":
            test = resources.examples(step).inputs["test"][: resources.test]
            parts = {"train": task.train[: min(_REPORTED, len(dev))], "dev": dev, "test": test}
            say(f"Reporting {len(parts['train'])} train and {len(test)} test examples")
        try:
            for candidate in {before.number: before, best.number: best}.values():
                program = task.copy()
                selects = nearest and candidate.number
                program.load(candidate.state, Nearest(nearest, task.encode) if selects else None)
                unseen = [example for rows in parts.values() for example in rows if example.id not in candidate.scores]
                task.evaluate(program, unseen)
        except KeyboardInterrupt:  # the dev rows are measured already
            say(_INTERRUPTED)
            ending, parts = "interrupted", {"dev": dev}
    return best, parts, ending


def _search(task: Task, search: Search, say: Callable[[str], object]) -> str:
    """Search within the budget, and return the ending; the ledger has the candidates so far."""
    task.ledger.budget = task.ledger.calls + task.budget
    try:
        search(task)
    except Stopped as stopped:
        if stopped.__cause__ is not None:
            raise
        return "budget"
    except KeyboardInterrupt:
        say(_INTERRUPTED)
        return "interrupted"
    finally:
        task.ledger.budget = None
    return "complete"


@contextmanager
def _unwrapped_failures() -> Iterator[None]:
    """Raise the cause of :class:`Stopped`, which carries errors through DSPy's handlers."""
    try:
        yield
    except Stopped as stopped:
        if stopped.__cause__ is None:
            raise
        raise stopped.__cause__ from None


@contextmanager
def _quiet(verbose: bool) -> Iterator[None]:
    """Silence the optimizers unless ``verbose``."""
    if verbose:
        yield
        return
    loggers = [logging.getLogger(name) for name in ("dspy", "gepa")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
