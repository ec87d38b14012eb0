"""The interface of a strategy and its resources."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

import dspy

from optimizers.gold import Decided
from optimizers.report import CompileReport
from optimizers.steps import COMPILABLE
from optimizers.steps.base import Compiling, Judges
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

    def start(self, step: str, calls: int, unit: str = ...) -> None:
        """Report the start of a step, with an estimate of its calls or other units."""
        ...

    def call(self) -> None:
        """Report a call."""
        ...

    def say(self, message: str) -> None:
        """Report progress as text."""
        ...


class OpenModel(Protocol):
    """An open language model, with its name and the hash of local weights."""

    lm: Any
    adapter: Any
    name: str
    sha256: str | None

    def usage(self) -> dict[str, float]:
        """Return the calls, tokens and seconds so far."""
        ...


class Weights(NamedTuple):
    """The weights of a local model: its name, file and hash."""

    name: str
    path: Path
    sha256: str


class ShippedCritic(NamedTuple):
    """The shipped critic of a step: its predictor, the critic, and the compiled state."""

    predict: dspy.Predict
    critic: Critic
    state: CompiledState


class Resources(Protocol):
    """The resources of a strategy; models, labels and examples are opened on first use.

    Attributes:
        budget: the number of calls for each step, without the measurements before and after.
        seed: the seed of all random choices.
        rows: how many gold rows to train weights on, None for all.
        target_precision: the share of accepted rows that must be good, None for the step's default.
        dev: how many examples to compare candidates on, None to derive it from labels and budget.
        test: how many test examples to report.
        verbose: whether optimizers may print.
        embedder, encoder: the name of the embedding model, and the model.
        adapter: renders prompts.
        languages: the languages of runs, without syntax.
        demos: the original demos of the steps.
        listener: receives progress.
        begin: called when the compile of a step begins, with step, model and parameters.
        model: the language model to compile for.
        teacher: the larger model, if any.
        weights: the local weights of the language model.
        judges: the checks of generated outputs.
        sources: the ``labels``, ``gold`` and ``licences`` of the examples, for the record.
        folder: the folder for states of the language model.
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
        """Return the shipped files of labels of a kind and the user's files."""
        ...

    def gold(self, names: Sequence[str]) -> list[Path]:
        """Return the shipped gold files with these names and the user's files."""
        ...

    def examples(self, step: str) -> Examples:
        """Return the examples of a step, shuffled by the seed."""
        ...

    def shipped_critic(self, step: str) -> ShippedCritic:
        """Return the shipped critic of a step.

        Raises:
            InputError: it was fitted with another embedder.
        """
        ...

    def keep(self, file: Path, name: str) -> Path:
        """Copy a file to :attr:`folder`, and return the copy."""
        ...


Compile = Callable[[Sequence[str], Resources], Iterator[CompileReport]]


@dataclass(frozen=True)
class Strategy:
    """A strategy for compiling steps.

    Attributes:
        name: the value of ``--optimizer``.
        needs: the resources that it requires.
        suits: the models and steps that it suits.
        compile: compiles steps, and yields a report for each.
        steps: the steps that it compiles: ``all``, those that write, those that decide, those with heads to fit, those
            that can be fine-tuned, or ``judge``.
    """

    name: str
    needs: tuple[Need, ...]
    suits: str
    compile: Compile
    steps: Literal["all", "writing", "deciding", "fitted", "finetuned", "judge"] = "all"

    def steps_of(self, resources: Resources) -> list[str]:
        """Return the steps that can be compiled with these resources."""
        return [name for name in self.known_steps() if not self._lacks_demos(name, resources)]

    def known_steps(self) -> list[str]:
        """Return the steps that the strategy supports."""
        return [name for name, compiling in COMPILABLE.items() if self._supports(compiling)]

    def check(self, step: str, resources: Resources) -> None:
        """Raise an error if a step cannot be compiled.

        Raises:
            StrategyError: the strategy does not support the step, or labels lack outputs.
        """
        compiling = COMPILABLE[step]
        if not self._supports(compiling):
            supported = f"it compiles {', '.join(self.known_steps())}"
            hint = "use --optimizer finetune" if compiling.step.finetuned else supported
            raise StrategyError(f"--optimizer {self.name} cannot compile {step}; {hint}")
        if self._lacks_demos(step, resources):
            raise StrategyError(
                f"--optimizer {self.name}: the labels have no example outputs for {step}; use random-search or gepa"
            )

    def _lacks_demos(self, step: str, resources: Resources) -> bool:
        return "demos" in self.needs and not resources.examples(step).demos["train"]

    def _supports(self, compiling: Compiling) -> bool:
        if self.steps == "finetuned":
            return compiling.finetuning is not None
        if self.steps == "fitted":
            return compiling.fitting is not None
        if compiling.step.finetuned:
            return False
        return self.steps in ("all", "deciding" if compiling.step.decides else "writing", compiling.step.name)
