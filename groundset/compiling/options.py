"""The options of `groundset compile`."""

from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from groundset.models.hub_names import HubSpec
from groundset.models.specs import LocalSpec, parse_spec
from groundset.options import DEFAULT_EMBEDDER
from programs.errors import InputError, StrategyError

ALL, MODE = "all", "mode"


def _option(
    default: Any,
    metavar: str | None,
    description: str,
    *,
    ge: float | None = None,
    le: float | None = None,
    **shown: Any,
) -> Any:
    """Return a field with what the command line shows of it."""
    extra = {"metavar": metavar, **shown} if metavar else shown
    return Field(default, description=description, ge=ge, le=le, json_schema_extra=extra)


class CompileOptions(BaseModel):
    """How steps are compiled. Every field is an option of the command, and its description the help."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    steps: tuple[str, ...] = _option(
        ...,
        "STEP...",
        "Steps by name, such as judge or question; mode, the asking mode of --lm; or all.",
        argument=True,
    )
    optimizer: str | None = _option(
        None,
        "NAME",
        "The strategy; docs/compilation.md compares them.",
        show_default="fit-head, with --lm labeled",
    )
    lm: str | None = _option(None, "MODEL", "The language model to compile for; fit-head needs none.")
    teacher: str | None = _option(None, "MODEL", "A larger model that writes demos or instructions, and judges modes.")
    labels: tuple[str, ...] = _option(
        (),
        "FILE",
        "Labels and gold rows of your own, beside those that groundset ships; squad:FILE reads questions of SQuAD. "
        "Repeatable.",
    )
    rows: int | None = _option(
        None, "N", "For finetune: how many gold rows are learned from.", ge=1, show_default="all"
    )
    budget: int = _option(1200, "N", "Language model calls that the strategy may make for each step.", ge=1)
    target_precision: float | None = _option(
        None,
        "P",
        "For fit-head and fit-ensemble: the share of accepted rows that must be good, with 95 % confidence.",
        ge=0.0,
        le=1.0,
        show_default="chunk 0.8, judge 0.8, same 0.85, grounding 0.85, fit-ensemble 0.5",
    )
    embedder: str = _option(DEFAULT_EMBEDDER, "MODEL", "The embedding model.")
    seed: int = _option(0, None, "Fixes what chance would decide.")
    out: Path = _option(Path("out/compiled"), "DIR", "The folder that the states go to.")
    track: bool = _option(True, None, "Log the compile in MLflow.", negatable=True)
    track_texts: bool = _option(
        False, None, "Send state, prompt and rows to a tracking server too; they hold texts of labels."
    )
    tracking: str | None = _option(
        None,
        "URI|FOLDER",
        "The MLflow store, unless MLFLOW_TRACKING_URI names one.",
        show_default="mlruns/ if that folder is here, else one for all your projects",
    )
    verbose: bool = _option(False, None, "Let the optimizers' own words through.", short="-v")

    @property
    def strategy(self) -> str:
        """Return the name of the strategy: where none is named, heads without a language model, else demos."""
        return self.optimizer or ("fit-head" if self.lm is None else "labeled")

    @property
    def named(self) -> list[str]:
        """Return the steps that are named, once each; none if all are compiled."""
        return [] if ALL in self.steps else [step for step in dict.fromkeys(self.steps) if step != MODE]

    @property
    def compiles_steps(self) -> bool:
        """Return whether steps are compiled, beside the mode."""
        return bool(self.named) or ALL in self.steps

    @property
    def judge(self) -> str | None:
        """Return the model that judges asking modes, None if they are not measured."""
        return self.teacher if self.lm is not None and (MODE in self.steps or ALL in self.steps) else None

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Refuse unknown names, and a strategy without the models that it needs."""
        from optimizers.steps import COMPILABLE
        from optimizers.strategies import STRATEGIES

        name = self.strategy
        if name not in STRATEGIES:
            raise InputError(f"--optimizer {name}: no such strategy; choose one of {', '.join(STRATEGIES)}.")
        for step in self.steps:
            if step not in (*COMPILABLE, MODE, ALL):
                known = ", ".join(COMPILABLE)
                raise InputError(f"{step}: no such step to compile; choose of {known}, {MODE} or {ALL}.")
        needs = STRATEGIES[name].needs
        if self.lm is None and not {"lm", "weights"}.isdisjoint(needs):
            raise InputError(f"--optimizer {name} compiles for a language model: name it with --lm.")
        if MODE in self.steps and (self.lm is None or self.teacher is None):
            raise InputError("mode: name the model with --lm, and the one that judges what it asks with --teacher.")
        if self.compiles_steps and self.teacher is None and "teacher" in needs:
            raise StrategyError(f"--optimizer {name} needs a second model that writes instructions: --teacher.")
        if self.lm is not None and "weights" in needs and not isinstance(parse_spec(self.lm), LocalSpec | HubSpec):
            raise InputError(
                f"--lm {self.lm}: finetune trains weights that lie on this machine; name a catalogue model or a "
                ".gguf file."
            )
        return self
