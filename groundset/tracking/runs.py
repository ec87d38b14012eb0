"""A run as it is tracked."""

import json
from pathlib import Path

from groundset.tracking.store import TrackingStore


def log_generation(record: Path, store: TrackingStore) -> str:
    """Log a run by its ``run.json``: configuration, counts, tokens, the expected share of good questions, samples.

    A run that was logged before is not logged again. Samples are logged if the store keeps texts; on another machine no
    names of documents and no addresses of models are. Returns the id that the store gave it.

    Raises:
        TrackingError: the store failed.
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
    if store.host:
        parameters = {name: value for name, value in parameters.items() if name not in ("documents", "chunks")}
        parameters["lm"] = told["models"]["lm"]["name"]
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
    return store.log_run(record.parent.name, key, parameters, metrics, record.parent / "samples.jsonl")
