"""Compiling: check the options, run the strategy, write each state."""

import re
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from groundset import __version__
from groundset.compiling.labels import own_files
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

_NO_KEY = re.compile(r"[^\w.\- ]")  # what MLflow takes for no part of a parameter's name

# Called when the compile of a step begins: step, model, strategy, and the parameters that are known by then.
Started = Callable[[str, str, str, Mapping[str, Any]], object]


def compile_steps(
    options: CompileOptions,
    listener: Listener,
    started: Started = lambda *_: None,
    *,
    dev: int | None = None,
    test: int = TEST,
) -> Iterator[tuple[CompileReport | ModeReport, Path]]:
    """Compile steps, and yield the report of each with the file of its state; of asking modes last.

    One that was interrupted is the last. Candidates are compared on ``dev`` examples, by default on as many as labels
    and budget allow, and ``test`` examples are reported at the end.

    Raises:
        InputError: a file or a folder of the options cannot be used.
        OptimizerError: labels are wrong, or lack what the strategy needs.
        GroundsetError: a model failed.
    """
    strategy = STRATEGIES[options.strategy]
    if options.judge or (options.compiles_steps and "lm" in strategy.needs):
        for model in (options.lm, options.teacher):
            if model is not None:
                check_server(model)
    own = own_files(options.labels, options.out, listener.say)
    read_all(own)  # what is wrong with them should be said before minutes are spent
    current = ""

    def begin(step: str, model: str, parameters: Mapping[str, Any]) -> None:
        nonlocal current
        current = step
        started(step, model, strategy.name, _parameters(strategy.name, parameters))

    if options.compiles_steps:
        with OpenedResources(options, own, listener, begin, dev=dev, test=test) as resources:
            steps = options.named or strategy.steps_of(resources)
            for step in steps:  # what is lacking should be said before anything is opened
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
    if options.judge is not None and options.lm is not None:
        yield measure_modes(options.lm, options.judge, labels=own, seed=options.seed, out=options.out, say=listener.say)


def _write(report: CompileReport, out: Path, listener: Listener) -> Path:
    """Write the state of a report to ``<out>/<model>/<step>.json``, and return the file.

    A compile that found nothing better than the step as it was does not take the place of one that did.

    Raises:
        InputError: the folder cannot be written.
    """
    state = report.state
    file = out / folder_of(state.model) / f"{state.step}.json"
    if not state.record.get("chosen", 1) and (before := _better_before(file, state)):
        listener.say(f"Nothing better was found, so what {before.optimizer} found before stays in {file}")
    else:
        write_text(file, state_text(state))
    return file


def _better_before(file: Path, new: CompiledState) -> CompiledState | None:
    """Return the state in a file, if it serves the same model as another one and changes the step."""
    try:
        old = CompiledState.model_validate_json(file.read_bytes())
    except (OSError, ValueError):
        return None
    serves = (old.signature, old.dspy, old.model_sha256) == (new.signature, new.dspy, new.model_sha256)
    changes = old.blend is not None or old.adapter is not None or bool(old.record.get("chosen"))
    return old if serves and changes else None


def environment(state: CompiledState) -> dict[str, Any]:
    """Return the parameters of a compile that its state records: the model, its files of rows and their counts."""
    found: dict[str, Any] = {"model": state.model, "model_sha256": state.model_sha256 or ""}
    for kind in ("labels", "gold"):
        for row in state.record.get(kind, ()):
            found[f"{kind}.{_NO_KEY.sub('_', row['file'])}"] = row["sha256"]
    return found | {f"rows.{split}": count for split, count in state.record.get("rows", {}).items()}


def _parameters(optimizer: str, made_with: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a compile that are known when it starts: the options, and this installation."""
    options = {name: "" if value is None else value for name, value in made_with.items()}
    versions = versions_of("dspy", "xllamacpp", "scikit-learn", "sentence-transformers", "gepa")
    commit = _commit()
    return {
        "optimizer": optimizer,
        **options,
        "groundset": __version__,
        **{f"version.{name}": version for name, version in versions.items()},
        **({"git_commit": commit} if commit else {}),
    }


@cache
def _commit() -> str | None:
    """Return the commit of the checkout that this code runs from, None if it was installed otherwise.

    Once for all: the code that runs stays what it was when a commit comes in between, and MLflow takes no second value.
    """
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return None
    try:
        found = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return found.stdout.strip()
