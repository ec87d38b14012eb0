"""Compiling one step with one strategy: before, what was tried, the best of it, and the test rows once."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import dspy

from optimizers.ledger import Candidate, Ledger
from optimizers.measures import Interval, area_under_roc, average_precision, bootstrap, mean, mean_gain
from optimizers.step import CriticStep, GeneratorStep
from optimizers.steps import COMPILABLE
from optimizers.steps.base import Judges
from optimizers.steps.examples import Examples
from optimizers.strategies.base import Strategy, Task
from programs.errors import LeakError, Stopped, StrategyError
from programs.nearest import Encode, Nearest
from programs.steps.demos import Demos

DEV, TEST, TRAIN = 24, 40, 60
_REPORTED = 24  # train rows: what they say is of interest beside the others only
_KEPT_KEYS = ("language", "explanation", "augmented")


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
        dev, test: how many examples are compared on, and reported at the end; of train as many as of dev, at most 24.
    """

    adapter: Any
    critic: Any
    judges: Judges
    demos: Demos
    encode: Encode
    teacher: Any = None
    budget: int = 150
    seed: int = 0
    dev: int = DEV
    test: int = TEST
    on_call: Callable[[], None] | None = None
    on_progress: Callable[[str], object] = field(default=str)

    @property
    def train(self) -> int:
        """Return how many train examples are reported."""
        return min(_REPORTED, self.dev)


class Compilation(NamedTuple):
    """How a compile went.

    Attributes:
        predictor: the state of the best candidate, with the starting demos of the languages that it has none for.
        chosen: the number of the best candidate; 0 is the step as it was.
        tried: for each candidate its number, its mean on dev if it was evaluated on all of it, how many demos it
            shows and its instructions.
        measures: for ``before`` and ``after`` the figures on train, dev and test; ``gain`` has the paired differences.
        calls: how many calls it took in all.
        ending: ``complete``, ``budget`` or ``interrupted``; then train and test rows were not measured.
        rows: what both said of each example that was measured.
        prompt: the prompt with the inputs as ``{{variables}}``.
    """

    predictor: dict[str, Any]
    chosen: int
    tried: list[dict[str, Any]]
    measures: dict[str, dict[str, Interval]]
    calls: int
    ending: str
    rows: list[dict[str, Any]]
    prompt: str


def estimated_calls(step: str, examples: Examples, setting: Setting) -> int:
    """Return how many calls a compile takes at most: before on dev, the strategy's budget, both on train and test."""
    dev = len(examples.inputs["dev"][: setting.dev])
    train = len(examples.inputs["train"][: setting.train])
    measured = dev + 2 * (train + len(examples.inputs["test"][: setting.test]))
    return setting.budget + measured * (2 if COMPILABLE[step].asks_model else 1)


def compile_step(step: str, strategy: Strategy, examples: Examples, setting: Setting) -> Compilation:
    """Compile a step and return the best candidate on dev rows.

    Raises:
        StrategyError: the strategy lacks what it needs, or the labels hold too few examples.
        LeakError: an example of the test split is among those that are tried or shown.
    """
    if strategy.run is None:
        raise StrategyError(f"--optimizer {strategy.name} is no strategy for a language model.")
    train, dev = examples.inputs["train"][:TRAIN], examples.inputs["dev"][: setting.dev]
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
    setting.on_progress(f"Measuring {step} as it is on {len(dev)} examples")
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
            parts = {"train": train[: setting.train], "dev": dev, "test": test}
            setting.on_progress(f"Reporting {len(parts['train'])} train and {len(test)} test examples")
        for candidate in {before.number: before, best.number: best}.values():
            program = _as_program(task, candidate, strategy)
            unseen = [example for rows in parts.values() for example in rows if example.id not in candidate.scores]
            task.evaluate(program, unseen)
    predictor = _finished(best.state, start)
    return Compilation(
        predictor=predictor,
        chosen=best.number,
        tried=[_told(candidate, dev) for candidate in ledger.candidates],
        measures={
            "before": _measures(before, parts, decides=compiling.step.decides),
            "after": _measures(best, parts, decides=compiling.step.decides),
            "gain": {name: mean_gain(_values(before, rows), _values(best, rows)) for name, rows in parts.items()},
        },
        calls=ledger.calls,
        ending=ending,
        rows=[_row(example, name, before, best) for name, rows in parts.items() for example in rows],
        prompt=_rendered(predictor, start, setting.adapter),
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
        setting.on_progress("Interrupted: the best so far is kept")
        return "interrupted"
    finally:
        task.ledger.budget = None
    return "complete"


def _as_program(task: Task, candidate: Candidate, strategy: Strategy) -> GeneratorStep | CriticStep:
    program = task.copy()
    program.predict.load_state(candidate.state)
    if strategy.nearest and candidate.number and isinstance(program, GeneratorStep):
        program.select = Nearest(strategy.nearest, task.encode)
    return program


def _finished(state: Mapping[str, Any], start: dspy.Predict) -> dict[str, Any]:
    """Return a candidate's state for the whole step.

    Demos hold only what the step shows, and the languages without compiled ones keep those that they had. A critic
    was asked for one of its outputs only; the others stay as they were.
    """
    shown = {*start.signature.fields, *_KEPT_KEYS}
    demos = [{key: value for key, value in dict(demo).items() if key in shown} for demo in state["demos"]]
    covered = {demo.get("language", "en") for demo in demos}
    others = [demo.toDict() for demo in start.demos if demo.get("language") not in covered] if demos else []
    whole: dict[str, Any] = start.dump_state()
    signature = {**whole["signature"], "instructions": state["signature"]["instructions"]}
    fields = {"fields": state["fields"]} if state.get("fields") else {}
    return {**whole, **fields, "signature": signature, "demos": [*demos, *others]}


def _values(candidate: Candidate, rows: Sequence[dspy.Example]) -> list[float]:
    return [candidate.scores[example.id].value for example in rows]


def _measures(
    candidate: Candidate, parts: Mapping[str, Sequence[dspy.Example]], *, decides: bool
) -> dict[str, Interval]:
    found = {}
    for name, rows in parts.items():
        found[name] = mean(_values(candidate, rows))
        if decides:
            good = [bool(example.fit) for example in rows]
            probability = [candidate.outputs[example.id]["probability"] for example in rows]
            found[f"{name}_auc"] = bootstrap(area_under_roc, good, probability)
            found[f"{name}_average_precision"] = bootstrap(average_precision, good, probability)
    return found


def _row(example: dspy.Example, split: str, before: Candidate, after: Candidate) -> dict[str, Any]:
    told: dict[str, Any] = {"split": split, "id": example.id, "inputs": str(example.inputs().toDict())}
    if "fit" in example:
        told["fit"] = bool(example.fit)
    for name, candidate in (("before", before), ("after", after)):
        if "fit" in example:
            told[f"{name}_probability"] = candidate.outputs[example.id]["probability"]
        scored = candidate.scores[example.id]
        told |= {f"{name}_output": str(candidate.outputs[example.id]), f"{name}_score": scored.value}
        told[f"{name}_feedback"] = scored.feedback
    return told


def _told(candidate: Candidate, dev: Sequence[dspy.Example]) -> dict[str, Any]:
    signature = candidate.state["signature"]
    demos = len(candidate.state["demos"])
    return {
        "number": candidate.number,
        "dev": candidate.mean(dev),
        "demos": demos,
        "instructions": signature["instructions"],
    }


def _rendered(state: Mapping[str, Any], start: dspy.Predict, adapter: Any) -> str:
    predict = dspy.Predict(start.signature).load_state(dict(state))
    inputs = {name: f"{{{{{name}}}}}" for name in predict.signature.input_fields}
    chat = adapter.format(predict.signature, [dict(demo) for demo in predict.demos], inputs)
    return "\n\n".join(f"[{turn['role']}]\n{turn['content']}" for turn in chat)
