"""The strategies that compile a step: what each one needs, and for which models it pays."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import dspy

from optimizers.instructions import POOL, PoolProposer
from optimizers.ledger import Ledger
from optimizers.step import CriticStep, GeneratorStep
from programs.errors import StrategyError
from programs.nearest import Encode, Nearest

Need = Literal["labels", "lm", "demos", "teacher"]
_DEMOS = 6
_BOOTSTRAPPED = 4
_GOOD_ENOUGH = 0.5  # of a bootstrapped demo, on the scale of the step's metric
_POOL = 32
_HEAT = 16  # fewest dev rows that a part of the candidates is dropped after
_FINALISTS = 4  # one candidate in so many is compared on all dev rows
NEAREST = 4


@dataclass(frozen=True)
class Task:
    """What a strategy works on.

    Attributes:
        step: the step's name.
        student: the step as a program.
        ledger: whose metric scores, and who remembers every candidate.
        demos: train examples with outputs.
        train: train examples to try on.
        dev: examples that every candidate is compared on.
        budget: how many calls may be made.
        seed: fixes what chance decides.
        teacher: a larger model, if one was named.
        encode: embeds texts.
    """

    step: str
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
    def rounds(self) -> int:
        """Return how many candidates the budget can compare on dev, at least one."""
        return max(1, self.budget // max(1, len(self.dev)))

    def race(self, candidate: Callable[[int], dspy.Module]) -> None:
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
        placed = [(self.ledger.candidate(program.predict).mean(self.dev[:heat]), program) for program in programs]
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


@dataclass(frozen=True)
class Strategy:
    """One row of the table.

    Attributes:
        name: what ``--optimizer`` says.
        needs: ``labels`` alone, a language model, labelled demos, a second and larger model.
        suits: for which models and steps it pays.
        run: drives the optimizer; what it tries stays in the ledger. None where a program of its own does it.
        steps: which steps it compiles: ``all``, those that write, those that decide, or ``judge``.
        nearest: how many demos a call chooses from the state's own, 0 for all of them.
    """

    name: str
    needs: tuple[Need, ...]
    suits: str
    run: Callable[[Task], None] | None
    steps: Literal["all", "writing", "deciding", "judge"] = "all"
    nearest: int = 0


def _labeled(task: Task) -> None:
    """Compare sets of labelled demos, drawn by DSPy's LabeledFewShot."""

    def drawn(number: int) -> dspy.Module:
        rows = list(task.demos)
        random.Random(f"{task.seed}/{number}").shuffle(rows)
        count = (_DEMOS, _DEMOS // 2)[number % 2]
        return dspy.LabeledFewShot(k=count).compile(task.copy(), trainset=rows, sample=False)

    task.race(drawn)


def _random_search(task: Task) -> None:
    """Compare sets of demos that the model itself wrote well enough, mixed with labelled ones."""
    rows = list(task.demos or task.train)
    random.Random(task.seed).shuffle(rows)
    optimizer = dspy.BootstrapFewShotWithRandomSearch(
        metric=task.ledger.metric,
        teacher_settings={"lm": task.teacher} if task.teacher is not None else {},
        metric_threshold=_GOOD_ENOUGH,
        max_bootstrapped_demos=_BOOTSTRAPPED,
        max_labeled_demos=_DEMOS if task.demos else 0,
        num_candidate_programs=task.rounds,
        num_threads=1,
        max_errors=1,
    )
    # Two of its own candidates are left out: no demos at all, and labelled ones alone, which `labeled` compares.
    optimizer.compile(task.student, trainset=rows, valset=list(task.dev), restrict=range(-1, task.rounds))


def _mipro(task: Task) -> None:
    """Search instructions that the second model writes, together with demos."""
    optimizer = dspy.MIPROv2(
        metric=task.ledger.metric,
        prompt_model=task.teacher,
        task_model=dspy.settings.lm,
        auto=None,
        num_candidates=max(2, min(6, task.rounds)),
        max_bootstrapped_demos=_BOOTSTRAPPED,
        max_labeled_demos=_DEMOS if task.demos else 0,
        metric_threshold=_GOOD_ENOUGH,
        num_threads=1,
        max_errors=1,
        seed=task.seed,
    )
    optimizer.compile(
        task.student,
        trainset=list(task.demos or task.train),
        valset=list(task.dev),
        num_trials=max(2, task.rounds),
        minibatch=False,
    )


def _gepa(task: Task) -> None:
    """Evolve instructions: written by the second model if there is one, else drawn from our own pool."""
    drawn = task.teacher is None
    optimizer = dspy.GEPA(
        metric=task.ledger.metric,
        max_metric_calls=task.budget,
        reflection_minibatch_size=4,
        reflection_lm=task.teacher,
        instruction_proposer=PoolProposer(task.step) if drawn else None,
        use_merge=False,
        num_threads=1,
        seed=task.seed,
    )
    optimizer.compile(task.student, trainset=list(task.train), valset=list(task.dev))


def _knn(task: Task) -> None:
    """Give the step a pool of labelled demos; each call takes those nearest to its input."""
    copied = task.copy()
    if isinstance(copied, GeneratorStep):  # which it is, or the step would have been refused
        copied.select = Nearest(NEAREST, task.encode)
    rows = list(task.demos)
    random.Random(task.seed).shuffle(rows)
    copied.predict.demos = rows[:_POOL]
    task.evaluate(copied)


def _reanchor(task: Task) -> None:
    """Move the threshold of a critic to where most labels of the train rows come out right."""

    def right(example: dspy.Example, prediction: Any, trace: Any = None) -> float:
        del trace
        return float(prediction.fit is example.fit)

    optimizer = dspy.experimental.ReAnchor(right, num_threads=1, require_cache=False)
    task.evaluate(optimizer.compile(task.student, trainset=list(task.train)))


STRATEGIES: Mapping[str, Strategy] = {
    strategy.name: strategy
    for strategy in (
        Strategy("labeled", ("lm", "demos"), "any model; the first thing to try", _labeled),
        Strategy("random-search", ("lm",), "models that write at least one good output in two", _random_search),
        Strategy("mipro", ("lm", "teacher"), "with a second model of 7B or more that writes the instructions", _mipro),
        Strategy("gepa", ("lm",), "any model with our own instructions; better with a second model", _gepa),
        Strategy("knn", ("lm", "demos"), "servers that are quick to read prompts", _knn, "writing", NEAREST),
        Strategy("reanchor", ("lm",), "the critic lm, of 1.5B or more", _reanchor, "deciding"),
        Strategy("fit-head", ("labels",), "chunk and judge, without any language model", None, "deciding"),
        Strategy("fit-ensemble", ("labels", "lm"), "judge, with a model of 1.5B or more", None, "judge"),
    )
}
DECIDED = ("chunk", "judge")


def steps_of(strategy: Strategy, with_demos: Sequence[str]) -> list[str]:
    """Return the steps that a strategy can compile, given those whose labels hold outputs to show."""
    return [step for step in POOL if _takes(strategy, step) and ("demos" not in strategy.needs or step in with_demos)]


def check_task(strategy: Strategy, step: str, *, demos: bool, teacher: bool) -> None:
    """Raise if a strategy lacks what it needs for a step.

    Raises:
        StrategyError: names what is missing and what to do.
    """
    if not _takes(strategy, step):
        kind = "decides" if step in DECIDED else "writes"
        raise StrategyError(f"--optimizer {strategy.name} compiles {strategy.steps} steps only; {step} {kind}.")
    if "teacher" in strategy.needs and not teacher:
        raise StrategyError(f"--optimizer {strategy.name} needs a second model that writes instructions: --teacher.")
    if "demos" in strategy.needs and not demos:
        raise StrategyError(
            f"--optimizer {strategy.name}: the labels hold no example outputs for {step}; use random-search or gepa."
        )


def _takes(strategy: Strategy, step: str) -> bool:
    return strategy.steps in ("all", "deciding" if step in DECIDED else "writing", step)
