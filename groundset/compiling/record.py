"""What is kept of a compile: the state in its folder, and what it was made with."""

import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

from groundset import __version__
from groundset.files import write_text
from optimizers.report import CompileReport
from optimizers.states import state_text
from programs.critics.states import CompiledState, folder_of

_LIBRARIES = ("dspy", "xllamacpp", "scikit-learn", "sentence-transformers", "gepa")


def write_report(report: CompileReport, out: Path) -> Path:
    """Write the state of a compile to ``<out>/<model>/<step>.json`` and return the file.

    Raises:
        InputError: the folder cannot be written.
    """
    file = out / folder_of(report.state.model) / f"{report.state.step}.json"
    write_text(file, state_text(report.state))
    return file


def environment(state: CompiledState) -> dict[str, Any]:
    """Return the parameters of a compile that its state and this installation tell."""
    told: dict[str, Any] = {
        "groundset": __version__,
        "model": state.model,
        "model_sha256": state.model_sha256 or "",
        **{f"version.{name}": metadata.version(name) for name in _LIBRARIES},
    }
    for row in state.record.get("labels", ()):
        told[f"labels.{row['file']}"] = row["sha256"]
    for split, count in state.record.get("rows", {}).items():
        told[f"rows.{split}"] = count
    if commit := _commit():
        told["git_commit"] = commit
    return told


def _commit() -> str | None:
    """Return the commit of the checkout that this code runs from, None if it was installed otherwise."""
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return None
    try:
        found = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return found.stdout.strip()
