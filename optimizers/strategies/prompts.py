"""Compiling the prompt of a step: the step as it was, what a search tries, the best of it, and the test rows once.

Strategies differ in their search alone; :func:`prompt_strategy` makes the row of one.
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
from optimizers.report import CompileReport, prompt_report
from optimizers.steps import COMPILABLE
from optimizers.steps.base import Compiling
from optimizers.steps.examples import Examples
from optimizers.strategies.base import Need, Resources, Strategy
from optimizers.student import CriticStep, GeneratorStep
from programs.critics.logprobs import LogprobCritic
from programs.errors import LeakError, Stopped, StrategyError
from programs.nearest import Encode, Nearest

DEMOS = 6  # labelled ones that a candidate shows at most
BOOTSTRAPPED = 4  # those that the model itself wrote
GOOD_ENOUGH = 0.5  # of a bootstrapped demo, on the scale of the step's metric
_HEAT = 16  # fewest dev rows that a part of the candidates is dropped after
_FINALISTS = 4  # one candidate in so many is compared on all dev rows
_TRAIN = 60
_FEWEST, _MOST = 24, 300  # dev rows where nobody names a number
_ROUNDS = 4  # candidates that the budget should be able to compare on all of them
_REPORTED = 24  # train rows: what they say is of interest beside the others only
_INTERRUPTED = "Interrupted: the best so far is kept"


@dataclass(frozen=True)
class Task:
    """What a search works on.

    The ledger scores outputs and remembers every candidate. ``demos`` are train examples with outputs, ``train`` those
    to try on, and every candidate is compared on ``dev``.
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
    def written_for(self) -> Sequence[dspy.Example]:
        """Return the train examples that the model writes demos for: those with outputs where there are enough."""
        return self.demos if len(self.demos) >= DEMOS else self.train

    @property
    def rounds(self) -> int:
        """Return how many candidates the budget can compare on dev, at least one."""
        return max(1, self.budget // max(1, len(self.dev)))

    def shuffled(self, rows: Sequence[dspy.Example], number: int | None = None) -> list[dspy.Example]:
        """Return examples in an order that the seed fixes, another one for each number."""
        order = list(rows)
        random.Random(self.seed if number is None else f"{self.seed}/{number}").shuffle(order)
        return order

    def race(self, candidate: Callable[[int], GeneratorStep | CriticStep]) -> None:
        """Compare as many candidates as the budget allows: all on a part of dev, and the best of them on the rest.

        One round of successive halving (Jamieson and Talwalkar 2016). ``candidate`` makes one by its number. Where dev
        is too small to part, all of them run on the whole.
        """
        heat = max(_HEAT, len(self.dev) // 3)
        heat = heat if 2 * heat <= len(self.dev) else len(self.dev)
        rest = len(self.dev) - heat
        rows = self.budget * len(self.dev) / self.ledger.calls  # as the step as it was took, just measured
        count = max((n for n in range(1, self.budget) if n * heat + max(1, n // _FINALISTS) * rest <= rows), default=1)
        programs = [candidate(number) for number in range(count)]
        for program in programs:
            self.evaluate(program, self.dev[:heat])
        placed = [(program.candidate().mean(self.dev[:heat]), program) for program in programs]
        placed.sort(key=lambda pair: pair[0] or 0.0, reverse=True)
        for _, program in placed[: max(1, count // _FINALISTS)]:
            self.evaluate(program, self.dev[heat:])

    def evaluate(self, program: dspy.Module, examples: Sequence[dspy.Example] | None = None) -> None:
        """Run a candidate on dev or on other examples; the ledger keeps its scores."""
        for example in self.dev if examples is None else examples:
            self.ledger.metric(example, program(**example.inputs()))

    def copy(self) -> GeneratorStep | CriticStep:
        """Return a copy of the student to change."""
        copied: GeneratorStep | CriticStep = self.student.deepcopy()
        return copied


Search = Callable[[Task], None]  # drives an optimizer; what it tries stays in the ledger


def prompt_strategy(
    name: str,
    needs: tuple[Need, ...],
    suits: str,
    search: Search,
    steps: Literal["all", "writing", "deciding"] = "all",
    nearest: int = 0,
) -> Strategy:
    """Return the row of a strategy that compiles prompts; see :class:`Strategy`.

    ``nearest`` is how many demos a call chooses from the state's own, 0 for all of them.
    """
    run = partial(compile_prompts, name, search, nearest)
    return Strategy(name, ("labels", "embedder", "lm", *needs), suits, run, steps)


def compile_prompts(
    optimizer: str, search: Search, nearest: int, steps: Sequence[str], resources: Resources
) -> Iterator[CompileReport]:
    """Compile the prompts of steps, one after the other; Ctrl-C keeps the best so far and ends it.

    Raises:
        OptimizerError: the labels hold too few examples.
        LeakError: an example of the test split is among those that are tried or shown.
    """
    _ = resources.judges, resources.teacher  # what cannot be opened is said before the journal is made
    for step in steps:
        yield _compile_prompt(step, optimizer, search, nearest, resources)


def _compile_prompt(step: str, optimizer: str, search: Search, nearest: int, resources: Resources) -> CompileReport:
    model, listener, examples = resources.model, resources.listener, resources.examples(step)
    teacher = resources.teacher
    made_with = {"budget": resources.budget, "seed": resources.seed, "teacher": teacher.name if teacher else None}
    resources.begin(step, model.name, made_with)
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
        record={**resources.sources, "rows": {name: len(rows) for name, rows in examples.inputs.items()}, **made_with},
        used={key: value - before[key] for key, value in model.usage().items()},
        model=model.name,
        model_sha256=model.sha256,
        optimizer=optimizer,
    )
    return replace(report, parameters=made_with, ending=ending)


def dev_rows(step: str, examples: Examples, resources: Resources) -> list[dspy.Example]:
    """Return the examples that candidates are compared on."""
    wanted = resources.dev
    if wanted is None:
        wanted = min(_MOST, max(_FEWEST, resources.budget // (_ROUNDS * COMPILABLE[step].calls_per_example)))
    return examples.inputs["dev"][:wanted]


def estimated_calls(step: str, examples: Examples, resources: Resources) -> int:
    """Return how many calls a compile takes at most: dev rows before, the budget, both on train and test rows."""
    dev = len(dev_rows(step, examples, resources))
    train = min(_REPORTED, dev, len(examples.inputs["train"]))
    measured = dev + 2 * (train + len(examples.inputs["test"][: resources.test]))
    return resources.budget + measured * COMPILABLE[step].calls_per_example


def _task_of(step: str, examples: Examples, resources: Resources) -> tuple[Task, dspy.Predict]:
    """Return what a search works on, and the predictor that it starts from."""
    compiling, model, listener = COMPILABLE[step], resources.model, resources.listener
    train, dev, demos = examples.inputs["train"][:_TRAIN], dev_rows(step, examples, resources), examples.demos["train"]
    for example in (*train, *dev, *demos):
        if example.split == "test":
            raise LeakError(f"example {example.id} belongs to the test split: it cannot be compiled with")
    test = len(examples.inputs["test"])
    if not dev or not test:
        raise StrategyError(f"the labels hold {len(dev)} dev and {test} test examples for {step}; add some")
    ledger = Ledger(compiling.metric, resources.judges, listener.call)
    start = compiling.step.predictor(resources.demos.get(step, ()))
    student = (
        CriticStep(start, ledger, LogprobCritic(model.lm))
        if compiling.step.decides
        else GeneratorStep(start, ledger, model.adapter)
    )
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
    """Search, and return the best candidate, what it and the first one were measured on, and the ending."""
    say, dev, step = resources.listener.say, task.dev, task.compiling.step.name
    gain = detectable_gain(task.compiling.deviation, len(dev))
    say(f"Measuring {step} as it is on {len(dev)} examples, which can tell a gain of {gain:.2f} from noise")
    with _failures_as_they_were(), dspy.context(max_history_size=0, max_errors=1):
        task.evaluate(task.student, dev[:1])  # what a first call loads says nothing about the others
        started = time.perf_counter()
        task.evaluate(task.student, dev[1:])
        seconds = (time.perf_counter() - started) / max(1, len(dev) - 1)
        minutes = seconds * (estimated_calls(step, resources.examples(step), resources) - len(dev)) / 60
        say(f"{trying}; about {minutes:.0f} minutes to go")
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
        except KeyboardInterrupt:  # what dev rows say is known already
            say(_INTERRUPTED)
            ending, parts = "interrupted", {"dev": dev}
    return best, parts, ending


def _search(task: Task, search: Search, say: Callable[[str], object]) -> str:
    """Search within the budget; what was tried until it ended is in the ledger."""
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
def _failures_as_they_were() -> Iterator[None]:
    """Raise what made a call fail, without the exception that carried it past DSPy."""
    try:
        yield
    except Stopped as stopped:
        if stopped.__cause__ is None:
            raise
        raise stopped.__cause__ from None


@contextmanager
def _quiet(verbose: bool) -> Iterator[None]:
    """Keep what the optimizers print to themselves."""
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
