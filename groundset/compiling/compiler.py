"""Compiling: check the options, run the strategy, write each state."""

import re
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from groundset import __version__
from groundset.compiling.labels import label_arguments
from groundset.compiling.modes import ModeReport, measure_modes
from groundset.compiling.options import CompileOptions
from groundset.compiling.resources import TEST, OpenedResources
from groundset.engine.engine import fatal_error
from groundset.files import write_text
from groundset.models.servers import check_server
from optimizers.labels import read_all
from optimizers.report import CompileReport, state_text, versions_of
from optimizers.strategies import STRATEGIES
from optimizers.strategies.base import Listener
from programs.critics.states import CompiledState, folder_of
from programs.errors import GroundsetError

_NOT_IN_NAMES = re.compile(r"[^\w.\- ]")  # characters that MLflow does not allow in parameter names

# Called when the compile of a step begins, with step, model, strategy and parameters.
Started = Callable[[str, str, str, Mapping[str, Any]], object]


def compile_steps(
    options: CompileOptions,
    listener: Listener,
    started: Started = lambda *_: None,
    *,
    dev: int | None = None,
    test: int = TEST,
) -> Iterator[tuple[CompileReport | ModeReport, Path]]:
    """Compile steps, and yield the report and state file of each; the report of asking modes comes last.

    An interrupted compile is the last. Candidates are compared on ``dev`` examples, by default as many as labels and
    budget allow, and ``test`` examples are reported.

    Raises:
        InputError: a file or folder of the options cannot be used.
        OptimizerError: labels are invalid or insufficient for the strategy.
        GroundsetError: a model failed.
    """
    strategy = STRATEGIES[options.strategy]
    if options.mode_judge or (options.compiles_steps and "lm" in strategy.needs):
        for model in (options.lm, options.teacher):
            if model is not None:
                check_server(model)
    user_labels = label_arguments(options.labels, options.out, listener.say)
    read_all(user_labels)  # fail early on invalid rows
    current = ""

    def begin(step: str, model: str, parameters: Mapping[str, Any]) -> None:
        nonlocal current
        current = step
        started(step, model, strategy.name, _parameters(strategy.name, parameters))

    if options.compiles_steps:
        with OpenedResources(options, user_labels, listener, begin, dev=dev, test=test) as resources:
            steps = options.named or strategy.steps_of(resources)
            for step in steps:  # fail before models are opened
                strategy.check(step, resources)
            try:
                for report in strategy.compile(steps, resources):
                    state = report.state
                    parameters = {**_parameters(state.optimizer, report.parameters), **environment(state)}
                    yield replace(report, parameters=parameters), _write(report, options.out, listener)
                    if report.ending == "interrupted":
                        return
            except GroundsetError:
                raise
            except Exception as error:
                reason = f"compiling {current} failed: {type(error).__name__}: {error}"
                raise fatal_error(error) or GroundsetError(reason) from error
    if options.mode_judge is not None and options.lm is not None:
        yield measure_modes(
            options.lm, options.mode_judge, labels=user_labels, seed=options.seed, out=options.out, say=listener.say
        )


def _write(report: CompileReport, out: Path, listener: Listener) -> Path:
    """Write the state of a report to ``<out>/<model>/<step>.json``, and return the file.

    An unchanged step does not overwrite the result of an earlier compile.

    Raises:
        InputError: the folder cannot be written.
    """
    state = report.state
    file = out / folder_of(state.model) / f"{state.step}.json"
    if not state.record.get("chosen", 1) and (before := _better_before(file, state)):
        listener.say(f"No improvement found; kept the earlier result of {before.optimizer} in {file}")
    else:
        write_text(file, state_text(state))
    return file


def _better_before(file: Path, new: CompiledState) -> CompiledState | None:
    """Return the state in a file, if it is for the same model and changes the step."""
    try:
        old = CompiledState.model_validate_json(file.read_bytes())
    except (OSError, ValueError):
        return None
    same_model = (old.signature, old.dspy, old.model_sha256) == (new.signature, new.dspy, new.model_sha256)
    changes = old.blend is not None or old.adapter is not None or bool(old.record.get("chosen"))
    return old if same_model and changes else None


def environment(state: CompiledState) -> dict[str, Any]:
    """Return the parameters from the record of a state: the model, the files of rows and their counts."""
    parameters: dict[str, Any] = {"model": state.model, "model_sha256": state.model_sha256 or ""}
    for kind in ("labels", "gold"):
        for row in state.record.get(kind, ()):
            parameters[f"{kind}.{_NOT_IN_NAMES.sub('_', row['file'])}"] = row["sha256"]
    return parameters | {f"rows.{split}": count for split, count in state.record.get("rows", {}).items()}


def _parameters(optimizer: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that are known at the start of a compile: the options, and the installed versions."""
    versions = versions_of("dspy", "xllamacpp", "scikit-learn", "sentence-transformers", "gepa")
    commit = _commit()
    return {
        "optimizer": optimizer,
        **{name: "" if value is None else value for name, value in options.items()},
        "groundset": __version__,
        **{f"version.{name}": version for name, version in versions.items()},
        **({"git_commit": commit} if commit else {}),
    }


@cache
def _commit() -> str | None:
    """Return the commit of the checkout that this code runs from, None if it is not run from one.

    Cached: the running code does not change with later commits, and MLflow rejects a second value.
    """
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return None
    try:
        result = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return result.stdout.strip()
