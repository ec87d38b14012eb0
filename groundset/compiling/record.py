"""What is kept of a compile: the state in its folder, and what it was made with."""

import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from groundset import __version__
from groundset.files import write_text
from groundset.runtime.lms import LanguageModel
from optimizers.compilation import Compilation
from optimizers.measures import recorded
from optimizers.power import detectable_gain
from optimizers.report import CompileReport
from optimizers.states import state_text
from optimizers.steps import COMPILABLE
from optimizers.steps.examples import Examples
from optimizers.strategies.base import Strategy
from programs.critics.states import CompiledState, dspy_version, folder_of, signature_hash
from programs.deciding import overall_of

_COMPILERS = ("dspy", "xllamacpp", "gepa")
_NO_KEY = re.compile(r"[^\w.\- ]")  # what MLflow takes for no part of a parameter's name
_LIBRARIES = ("dspy", "xllamacpp", "scikit-learn", "sentence-transformers", "gepa")

# Is told that a compile starts: step, model, strategy, and the parameters that are known by then.
Started = Callable[[str, str, str, Mapping[str, Any]], object]


def untracked(step: str, model: str, optimizer: str, parameters: Mapping[str, Any]) -> None:
    """Take that a compile starts, and keep nothing of it."""


def write_report(report: CompileReport, out: Path) -> Path:
    """Write the state of a compile to ``<out>/<model>/<step>.json`` and return the file.

    Raises:
        InputError: the folder cannot be written.
    """
    file = _file_of(report, out)
    write_text(file, state_text(report.state))
    return file


def standing_state(report: CompileReport, out: Path) -> tuple[CompiledState, Path] | None:
    """Return the state in the place of a report's, with its file, if it serves the same model and changes the step.

    A compile that found nothing better than the step as it was must not take its place.
    """
    file, new = _file_of(report, out), report.state
    try:
        old = CompiledState.model_validate_json(file.read_bytes())
    except (OSError, ValueError):
        return None
    serves = (old.signature, old.dspy, old.model_sha256) == (new.signature, new.dspy, new.model_sha256)
    changes = old.blend is not None or old.adapter is not None or bool(old.record.get("chosen"))
    return (old, file) if serves and changes else None


def _file_of(report: CompileReport, out: Path) -> Path:
    return out / folder_of(report.state.model) / f"{report.state.step}.json"


def report_of(
    step: str,
    strategy: Strategy,
    compiled: Compilation,
    *,
    model: LanguageModel,
    examples: Examples,
    labels: Any,
    gold: Any,
    licences: Sequence[str],
    made_with: Mapping[str, Any],
    used: Mapping[str, float],
) -> CompileReport:
    """Return the report of a compile for a language model.

    Args:
        step: what was compiled.
        strategy: how.
        compiled: what came of it.
        model: what it was compiled for.
        examples: what it was compiled on.
        labels, gold: the files of labels, and the shipped ones of gold rows, with their hashes.
        licences: those of gold rows that others published.
        made_with: budget, seed and teacher.
        used: calls, tokens and seconds of the model.
    """
    detectable = _detectable(step, compiled)
    record = {
        "labels": labels,
        "gold": gold,
        "licences": licences,
        "rows": {split: len(rows) for split, rows in examples.inputs.items()},
        **made_with,
        "calls": compiled.calls,
        "candidates": len(compiled.tried),
        "compared": compiled.compared,
        "detectable_gain": detectable,
        "chosen": compiled.chosen,
        "versions": {name: metadata.version(name) for name in _COMPILERS},
        "measures": recorded(compiled.measures),
    }
    state = CompiledState(
        step=step,
        model=model.name,
        model_sha256=model.sha256,
        optimizer=strategy.name,
        signature=signature_hash(COMPILABLE[step].step.signature),
        dspy=dspy_version(),
        predictor=compiled.predictor,
        nearest=strategy.nearest or None if compiled.chosen else None,
        threshold=compiled.predictor.get("fields", {})
        .get(overall_of(COMPILABLE[step].step.signature), {})
        .get("threshold"),
        record=record,
    )
    return CompileReport(
        state=state,
        measures=compiled.measures,
        rows=compiled.rows,
        candidates=compiled.tried,
        prompt=compiled.prompt,
        parameters={**asked_parameters(strategy.name, made_with), **environment(state)},
        figures={
            **used,
            "calls": compiled.calls,
            "tried": len(compiled.tried) - 1,
            "compared": compiled.compared,
            "detectable_gain": detectable,
        },
        ending=compiled.ending,
    )


def _detectable(step: str, compiled: Compilation) -> float:
    """Return the smallest gain that the dev rows could tell from noise, as the candidates really differed."""
    rows = sum(row["split"] == "dev" for row in compiled.rows)
    return round(detectable_gain(compiled.deviation or COMPILABLE[step].deviation, rows), 4)


def asked_parameters(optimizer: str, made_with: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a compile that are known when it starts: what was asked for, and this installation."""
    asked = {name: "" if value is None else value for name, value in made_with.items()}
    return {"optimizer": optimizer, **asked, **_installation()}


def environment(state: CompiledState) -> dict[str, Any]:
    """Return the parameters of a compile that its state and this installation tell."""
    told: dict[str, Any] = {**_installation(), "model": state.model, "model_sha256": state.model_sha256 or ""}
    for kind in ("labels", "gold"):
        for row in state.record.get(kind, ()):
            told[f"{kind}.{_NO_KEY.sub('_', row['file'])}"] = row["sha256"]
    for split, count in state.record.get("rows", {}).items():
        told[f"rows.{split}"] = count
    return told


def _installation() -> dict[str, str]:
    versions = {f"version.{name}": metadata.version(name) for name in _LIBRARIES}
    commit = _commit()
    return {"groundset": __version__, **versions, **({"git_commit": commit} if commit else {})}


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
