"""What MLflow keeps of a run: see :mod:`groundset.tracking`."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from groundset.run.compiled import SHIPPED
from groundset.run.folder import RECORD, SAMPLES
from groundset.run.options import GenerateOptions
from groundset.run.record import question_row
from groundset.run.run import Run
from groundset.tracking import RUNS, Entry, Rows, Tracking


def log_run(run: Run, store: Tracking) -> str:
    """Log a run and return a line about it; a run that grew is logged again, in the same run of
    MLflow.

    Raises:
        TrackingError: the store failed.
    """
    record, samples = run.record, len(run)
    started, compiled = record["started"], record.get("compiled", {})
    states = compiled.get("steps", {}) if compiled.get("which") != SHIPPED else {}
    prompts = {step: store.version_of(sha256) for step, sha256 in states.items()}
    prompts |= compiled.get("prompts", {})
    questions = [question_row(sample, None) for sample in run.samples]
    files = {name: run.folder / name for name in (SAMPLES, RECORD)}
    entry = Entry(
        RUNS,
        run.folder.name,
        f"{run.folder.absolute()} {started}",
        started=datetime.fromisoformat(started),
        ended=datetime.fromisoformat(record.get("ended") or datetime.now(UTC).isoformat()),
        parameters=_parameters(record, is_shared=bool(store.where.host))
        | {f"prompt.{step}": prompt or "not registered" for step, prompt in prompts.items()},
        metrics=[(name, float(value), samples) for name, value in _metrics(run)],
        tags={"status": run.status},
        rows=[Rows(run.folder.name, "evaluation", questions)] if questions else [],
        files=files if questions else {},
        prompts=[*filter(None, prompts.values())],
    )
    return store.log(entry)


def _parameters(record: Mapping[str, Any], *, is_shared: bool) -> dict[str, Any]:
    """Return the options of a run, for a server without private ones, and what it was made with."""
    hidden = GenerateOptions.with_fact("private") if is_shared else set()
    settings = {
        name: value
        for name, value in record["configuration"].items()
        if value not in (None, "", [], {}) and name not in hidden
    }
    for role, model in record["models"].items():
        settings |= {role: model["name"], f"{role}_sha256": model.get("sha256") or ""}
    for name, version in record.get("versions", {}).items():
        settings[f"version.{name}"] = version
    states = record.get("compiled", {}).get("steps", {})
    settings["compiled_steps"] = ", ".join(states)
    return settings | {f"state.{step}": sha256 for step, sha256 in states.items()}


def _metrics(run: Run) -> Iterator[tuple[str, float]]:
    """Yield some twenty figures of a run."""
    record, samples = run.record, run.samples
    yield from ((name, value) for name, value in record.items() if isinstance(value, int | float))
    yield "rejects", len(run.rejects)
    if samples:
        for name in ("calls", "prompt_tokens"):
            yield f"{name}_per_sample", record.get(name, 0) / len(samples)
        yield "found_first", sum(sample.retrieval.rank == 1 for sample in samples) / len(samples)
    for step, decisions in record["counts"].items():
        if decisions["refused"]:
            yield f"refused_by_{step}", decisions["refused"]
