"""The options of `groundset compile`."""

from pathlib import Path
from typing import Self

from pydantic import model_validator

from groundset.folders import check_folder
from groundset.models.hub import HubSpec
from groundset.models.specs import LocalSpec, parse_spec
from groundset.options import DEFAULT_EMBEDDER, CommandOptions, option
from programs.errors import InputError, StrategyError

ALL, MODE = "all", "mode"


class CompileOptions(CommandOptions):
    """Compile steps against labels.

    Demos and weights are learned from the split train, candidates are compared on dev, and test is only reported.
    The budget decides how many dev rows are used, 24 to 300, and so the minimum detectable gain.
    Use the result with `groundset generate --compiled DIR`. Ctrl-C keeps the best candidate so far; repeat the
    command to continue without repeating calls.
    """

    steps: tuple[str, ...] = option(
        ...,
        "Steps by name, such as judge or question; mode, the asking mode of --lm; or all.",
        metavar="STEP...",
        argument=True,
    )
    optimizer: str | None = option(
        None,
        "The strategy; docs/compilation.md compares them.",
        metavar="NAME",
        show_default="fit-head, with --lm labeled",
    )
    lm: str | None = option(None, "The language model to compile for; not needed for fit-head.", metavar="MODEL")
    teacher: str | None = option(
        None, "A larger model that writes demos or instructions, and judges modes.", metavar="MODEL"
    )
    labels: tuple[str, ...] = option(
        (),
        "A file of labels or gold rows, used in addition to the shipped ones; squad:FILE reads a file of SQuAD. "
        "Repeatable.",
        metavar="FILE",
    )
    rows: int | None = option(
        None, "For finetune: the number of gold rows to train on.", metavar="N", ge=1, show_default="all"
    )
    budget: int = option(1200, "Maximum language model calls of the strategy for each step.", metavar="N", ge=1)
    target_precision: float | None = option(
        None,
        "For fit-head and fit-ensemble: the share of accepted rows that must be good, with 95 % confidence.",
        metavar="P",
        ge=0.0,
        le=1.0,
        show_default="chunk 0.8, grounding 0.85, judge 0.8, same 0.85, fit-ensemble 0.5",
    )
    embedder: str = option(DEFAULT_EMBEDDER, "The embedding model.", metavar="MODEL")
    seed: int = option(0, "The random seed.")
    out: Path = option(Path("out/compiled"), "The folder for the states.", metavar="DIR")
    track: bool = option(True, "Log the compile in MLflow.")
    track_texts: bool = option(
        False, "Also send state, prompt and rows to a tracking server; they contain texts of labels."
    )
    tracking: str | None = option(
        None,
        "The MLflow store, unless MLFLOW_TRACKING_URI names one.",
        metavar="URI|FOLDER",
        show_default="mlruns/ if that folder is here, else one for all your projects",
    )
    verbose: bool = option(False, "Show the output of the optimizers.", names=("-v",))

    @property
    def strategy(self) -> str:
        """Return the name of the strategy, by default ``fit-head`` without a language model, else ``labeled``."""
        return self.optimizer or ("fit-head" if self.lm is None else "labeled")

    @property
    def named(self) -> list[str]:
        """Return the distinct named steps; empty for ``all``."""
        return [] if ALL in self.steps else [step for step in dict.fromkeys(self.steps) if step != MODE]

    @property
    def compiles_steps(self) -> bool:
        """Return whether any steps are compiled, or only the mode."""
        return bool(self.named) or ALL in self.steps

    @property
    def mode_judge(self) -> str | None:
        """Return the model that judges asking modes, None if they are not measured."""
        return self.teacher if self.lm is not None and (MODE in self.steps or ALL in self.steps) else None

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Reject unknown names, and strategies without the models that they need."""
        from optimizers.steps import COMPILABLE
        from optimizers.strategies import STRATEGIES

        check_folder(self.out)
        name = self.strategy
        if name not in STRATEGIES:
            raise InputError(f"--optimizer {name}: unknown strategy; choose one of {', '.join(STRATEGIES)}")
        for step in self.steps:
            if step not in (*COMPILABLE, MODE, ALL):
                known = ", ".join((*COMPILABLE, MODE, ALL))
                raise InputError(f"STEP {step}: unknown step; choose from {known}")
        needs = STRATEGIES[name].needs
        if self.lm is None and not {"lm", "weights"}.isdisjoint(needs):
            raise InputError(f"--optimizer {name} compiles for a language model; name it with --lm")
        if MODE in self.steps and (self.lm is None or self.teacher is None):
            raise InputError("mode: name the model with --lm and the judge of its questions with --teacher")
        if self.compiles_steps and self.teacher is None and "teacher" in needs:
            raise StrategyError(f"--optimizer {name} needs a model that writes instructions; name it with --teacher")
        if self.lm is not None and "weights" in needs and not isinstance(parse_spec(self.lm), LocalSpec | HubSpec):
            raise InputError(
                f"--lm {self.lm}: --optimizer finetune needs local weights; name a catalogue model or a .gguf file"
            )
        return self
