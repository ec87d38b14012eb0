"""What a strategy is, and what it is given to work on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import dspy

from optimizers.ledger import Ledger
from optimizers.step import CriticStep, GeneratorStep
from optimizers.steps import COMPILABLE
from optimizers.steps.base import Compiling
from programs.errors import StrategyError
from programs.nearest import Encode

Need = Literal["labels", "lm", "demos", "teacher"]

DEMOS = 6  # labelled ones that a candidate shows at most
BOOTSTRAPPED = 4  # those that the model itself wrote
GOOD_ENOUGH = 0.5  # of a bootstrapped demo, on the scale of the step's metric
_HEAT = 16  # fewest dev rows that a part of the candidates is dropped after
_FINALISTS = 4  # one candidate in so many is compared on all dev rows


@dataclass(frozen=True)
class Task:
    """What a strategy works on.

    Attributes:
        compiling: what is known of the step.
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


@dataclass(frozen=True)
class Strategy:
    """One row of the table.

    Attributes:
        name: what ``--optimizer`` says.
        needs: ``labels`` alone, a language model, labelled demos, a second and larger model.
        suits: for which models and steps it pays.
        run: drives the optimizer; what it tries stays in the ledger. None where a program of its own does it.
        steps: which steps it compiles: ``all``, those that write, those that decide, those whose heads can be fitted,
            those with gold rows to be taught with, or ``judge``.
        nearest: how many demos a call chooses from the state's own, 0 for all of them.
    """

    name: str
    needs: tuple[Need, ...]
    suits: str
    run: Callable[[Task], None] | None
    steps: Literal["all", "writing", "deciding", "fitted", "taught", "judge"] = "all"
    nearest: int = 0

    def steps_of(self, with_demos: Sequence[str]) -> list[str]:
        """Return the steps that can be compiled, given those whose labels hold outputs to show."""
        return [
            name
            for name, compiling in COMPILABLE.items()
            if self._takes(compiling) and ("demos" not in self.needs or name in with_demos)
        ]

    def check(self, step: str, *, demos: bool, teacher: bool) -> None:
        """Raise if something is lacking to compile a step.

        Raises:
            StrategyError: names what is missing and what to do.
        """
        compiling = COMPILABLE[step]
        if not self._takes(compiling):
            if self.steps in ("fitted", "taught"):
                known = ", ".join(self.steps_of(()))
                raise StrategyError(f"--optimizer {self.name} compiles {known}; {step} is not {self.steps}.")
            if compiling.step.taught:
                raise StrategyError(f"--optimizer {self.name}: {step} is compiled by --optimizer finetune only.")
            kind = "decides" if compiling.step.decides else "writes"
            raise StrategyError(f"--optimizer {self.name} compiles {self.steps} steps only; {step} {kind}.")
        if "teacher" in self.needs and not teacher:
            raise StrategyError(f"--optimizer {self.name} needs a second model that writes instructions: --teacher.")
        if "demos" in self.needs and not demos:
            raise StrategyError(
                f"--optimizer {self.name}: the labels hold no example outputs for {step}; use random-search or gepa."
            )

    def _takes(self, compiling: Compiling) -> bool:
        if self.steps == "taught":
            return compiling.teaching is not None
        if self.steps == "fitted":
            return compiling.fitting is not None
        if compiling.step.taught:
            return False
        return self.steps in ("all", "deciding" if compiling.step.decides else "writing", compiling.step.name)
