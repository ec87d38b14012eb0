"""Where compiles and runs are tracked: an MLflow store in ``mlruns/``, or the one that MLFLOW_TRACKING_URI names."""

import json
import os
from pathlib import Path
from typing import NamedTuple

from optimizers.tracking import TrackingStore
from programs.errors import InputError

FOLDER = Path("mlruns")
_SQLITE = "sqlite:///"
# MLflow would try a server that is not there for ten minutes, and draw a bar for each file it reads.
_PATIENCE = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "20",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
}


class Place(NamedTuple):
    """Where a store is: its address, and the folder of its files unless a server keeps them."""

    uri: str
    artifacts: Path | None


def open_tracking(*, create: bool = True) -> TrackingStore:
    """Open the store that :func:`tracking_place` names.

    Raises:
        InputError: the folder cannot be made; without ``create``, there is no store yet.
        TrackingError: the store cannot be opened.
    """
    for name, value in _PATIENCE.items():
        os.environ.setdefault(name, value)
    return TrackingStore(*tracking_place(create=create))


def tracking_place(*, create: bool) -> Place:
    """Return MLFLOW_TRACKING_URI if it is set, else ``mlruns/mlflow.db`` in the working directory.

    Raises:
        InputError: the folder cannot be made; without ``create``, there is no store yet.
    """
    if uri := os.environ.get("MLFLOW_TRACKING_URI"):
        # MLflow would put the files of a local store into the working directory.
        local = uri.startswith(_SQLITE)
        return Place(uri, Path(uri.removeprefix(_SQLITE)).parent / "artifacts" if local else None)
    folder = FOLDER.absolute()
    if not create and not (folder / "mlflow.db").exists():
        raise InputError(f"nothing is tracked in {folder} yet: groundset compile and groundset generate do it.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot track in {folder}: {error.strerror or error}") from error
    return Place(f"{_SQLITE}{folder / 'mlflow.db'}", folder / "artifacts")


def log_generation(record: Path) -> str:
    """Log a run by its ``run.json``: configuration, counts, tokens, the expected share of good questions, samples.

    A run that was logged before is not logged again. Returns the id that the store gave it.

    Raises:
        InputError, TrackingError: see :func:`open_tracking`.
    """
    told = json.loads(record.read_text(encoding="utf-8"))
    configuration, compiled = told["configuration"], told["compiled"]
    parameters = {
        **{name: value for name, value in configuration.items() if value is not None},
        "lm_sha256": told["models"]["lm"].get("sha256") or "",
        "critic_compiled": told["critic"],
        "compiled_steps": ", ".join(f"{step} by {state['optimizer']}" for step, state in compiled.items()),
        **{f"version.{name}": version for name, version in told["versions"].items()},
    }
    names = (
        "accepted", "asked", "attempts", "calls", "prompt_tokens", "evaluated_tokens", "completion_tokens", "seconds",
        "chunks", "documents",
    )  # fmt: skip
    metrics = {name: float(told[name]) for name in names}
    for step, counts in told["counts"].items():
        metrics |= {f"{step}_{what}": float(count) for what, count in counts.items()}
    expected = compiled.get("judge", {})
    if "expected_good" in expected:
        metrics["expected_good"] = expected["expected_good"]
        metrics["expected_good_low"], metrics["expected_good_high"] = expected["interval"]
    key = f"{record.parent.absolute()}/{told['identity']}"
    return open_tracking().log_run(record.parent.name, key, parameters, metrics, record.parent / "samples.jsonl")
