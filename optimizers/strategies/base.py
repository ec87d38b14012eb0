"""What a strategy is, and the resources that it works with."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

import dspy

from optimizers.report import CompileReport
from optimizers.steps import COMPILABLE
from optimizers.steps.base import Compiling, Decided, Judges
from optimizers.steps.examples import Examples
from programs.critics import Critic
from programs.critics.states import CompiledState
from programs.demos import Demos
from programs.errors import StrategyError
from programs.languages.table import Languages

Need = Literal["labels", "demos", "embedder", "lm", "teacher", "weights"]


Begin = Callable[[str, str, Mapping[str, Any]], object]


class Listener(Protocol):
    """Receives the events of a compile."""

    def start(self, step: str, calls: int, what: str = ...) -> None:
        """Report that a step starts, with an estimate of its calls or other units."""
        ...

    def call(self) -> None:
        """Report a call."""
        ...

    def say(self, message: str) -> None:
        """Report what comes next, as text."""
        ...


class OpenModel(Protocol):
    """A language model that is open, with its name and the hash of local weights."""

    lm: Any
    adapter: Any
    name: str
    sha256: str | None

    def usage(self) -> dict[str, float]:
        """Return calls, tokens and seconds up to now."""
        ...


class Weights(NamedTuple):
    """The weights of a local model: its name, its file and the hash of that."""

    name: str
    path: Path
    sha256: str


class ShippedCritic(NamedTuple):
    """The critic of a step that ships: its predictor, what serves it, and its compiled state."""

    predict: dspy.Predict
    critic: Critic
    state: CompiledState


class Resources(Protocol):
    """The resources of a strategy; models, labels and examples are opened on first use.

    Attributes:
        budget: how many calls a strategy may make for each step beside the measurements before and after.
        seed: fixes what chance decides.
        rows: how many gold rows weights are trained on, None for all.
        target_precision: the share of accepted rows that must be good, None for what suits the step.
        dev: how many examples candidates are compared on, by default as many as labels and budget allow.
        test: how many examples are reported at the end.
        verbose: whether optimizers may print.
        embedder, encoder: the name of the embedding model, and the model.
        adapter: renders prompts.
        languages: those of runs, without their syntax.
        demos: the turns that steps start from.
        listener: hears what happens.
        begin: is called when the compile of a step begins, with the name of the model and the parameters.
        model: the language model that is compiled for.
        teacher: the larger model, if one was named.
        weights: the weights of the language model, on this machine.
        judges: who is asked about what a step writes.
        sources: what examples are made from, for the record: ``labels``, ``gold`` and ``licences``.
        folder: where the states of the language model go.
    """

    budget: int
    seed: int
    rows: int | None
    target_precision: float | None
    dev: int | None
    test: int
    verbose: bool
    embedder: str
    adapter: Any
    languages: Languages
    demos: Demos
    listener: Listener
    begin: Begin

    @property
    def encoder(self) -> Any: ...  # noqa: D102
    @property
    def model(self) -> OpenModel: ...  # noqa: D102
    @property
    def teacher(self) -> OpenModel | None: ...  # noqa: D102
    @property
    def weights(self) -> Weights: ...  # noqa: D102
    @property
    def judges(self) -> Judges: ...  # noqa: D102
    @property
    def sources(self) -> Mapping[str, Any]: ...  # noqa: D102
    @property
    def folder(self) -> Path: ...  # noqa: D102

    def labels(self, kind: Decided) -> list[Path]:
        """Return the files of labels of a kind, the user's own among them."""
        ...

    def gold(self, names: Sequence[str]) -> list[Path]:
        """Return the shipped files of gold rows of these names, and the user's own files."""
        ...

    def examples(self, step: str) -> Examples:
        """Return the examples of a step, in an order that the seed fixes."""
        ...

    def shipped_critic(self, step: str) -> ShippedCritic:
        """Return the critic of a step that ships.

        Raises:
            InputError: it was fitted with another embedder.
        """
        ...

    def keep(self, file: Path, name: str) -> Path:
        """Copy a file beside the states of the model, and return the copy."""
        ...


Compile = Callable[[Sequence[str], Resources], Iterator[CompileReport]]


@dataclass(frozen=True)
class Strategy:
    """One row of the table.

    Attributes:
        name: what ``--optimizer`` says.
        needs: what it must be handed.
        suits: for which models and steps it pays.
        compile: compiles steps, and yields a report for each.
        steps: which steps it compiles: ``all``, those that write, those that decide, those whose heads can be fitted,
            those with gold rows to be taught with, or ``judge``.
    """

    name: str
    needs: tuple[Need, ...]
    suits: str
    compile: Compile
    steps: Literal["all", "writing", "deciding", "fitted", "taught", "judge"] = "all"

    def steps_of(self, resources: Resources) -> list[str]:
        """Return the steps that can be compiled with what there is."""
        return [name for name in self.known_steps() if not self._lacks_demos(name, resources)]

    def known_steps(self) -> list[str]:
        """Return the steps that it is made for."""
        return [name for name, compiling in COMPILABLE.items() if self._takes(compiling)]

    def check(self, step: str, resources: Resources) -> None:
        """Raise if something is lacking to compile a step.

        Raises:
            StrategyError: names what is missing and what to do.
        """
        compiling = COMPILABLE[step]
        if not self._takes(compiling):
            if self.steps in ("fitted", "taught"):
                known = ", ".join(self.known_steps())
                raise StrategyError(f"--optimizer {self.name} compiles {known}; {step} is not {self.steps}")
            if compiling.step.finetuned:
                raise StrategyError(f"--optimizer {self.name}: {step} is compiled by --optimizer finetune only")
            kind = "decides" if compiling.step.decides else "writes"
            raise StrategyError(f"--optimizer {self.name} compiles {self.steps} steps only; {step} {kind}")
        if self._lacks_demos(step, resources):
            raise StrategyError(
                f"--optimizer {self.name}: the labels hold no example outputs for {step}; use random-search or gepa"
            )

    def _lacks_demos(self, step: str, resources: Resources) -> bool:
        return "demos" in self.needs and not resources.examples(step).demos["train"]

    def _takes(self, compiling: Compiling) -> bool:
        if self.steps == "taught":
            return compiling.teaching is not None
        if self.steps == "fitted":
            return compiling.fitting is not None
        if compiling.step.finetuned:
            return False
        return self.steps in ("all", "deciding" if compiling.step.decides else "writing", compiling.step.name)
