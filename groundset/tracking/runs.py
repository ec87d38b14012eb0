"""Tracking of generated runs and their reports."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from groundset.files import encodable
from groundset.store.quality import QualityEstimate, estimate_quality
from groundset.store.record import run_files, write_record
from groundset.store.run_store import RunStore
from groundset.tracking.location import VARIABLE, StoreLocation, display_uri, store_host, tracking_location, user_folder
from groundset.tracking.store import TrackingStore
from programs.errors import InputError


class Tracked(NamedTuple):
    """A tracked run.

    Attributes:
        run_id: MLflow run id.
        uri: tracking URI.
        is_default: whether it is in the user's default store.
        withheld_from: host that did not receive the samples; None if they were logged.
    """

    run_id: str
    uri: str
    is_default: bool
    withheld_from: str | None = None


def already_tracked(record: Path, location: StoreLocation, *, texts: bool) -> Tracked | None:
    """Return the tracked run, None if it is not tracked there or has grown since; does not open the store."""
    facts = json.loads(record.read_text(encoding="utf-8"))
    before, host = facts.get("tracked") or {}, store_host(location.uri)
    withheld_from = None if texts else host
    version = _version(_key(record, facts), texts=withheld_from is None)
    if (before.get("store"), before.get("version")) != (display_uri(location.uri), version):
        return None
    return Tracked(before["run_id"], location.uri, location.is_default, withheld_from)


def track(record: Path, store: TrackingStore) -> Tracked:
    """Log a run, and record its tracking location in it.

    Raises:
        TrackingError: the store failed.
        RunError: the record cannot be written.
    """
    with RunStore.read(record.parent) as run:
        estimate = estimate_quality(run.meta("compiled"), run.results.samples())
    run_id = log_generation(record, store, estimate)
    facts = json.loads(record.read_text(encoding="utf-8"))
    version = _version(_key(record, facts), texts=store.keeps_texts)
    with RunStore.open(record.parent) as run:
        run.set_meta("tracked", {"run_id": run_id, "store": display_uri(store.uri), "version": version})
        write_record(run, facts["status"], facts["reason"])
    return Tracked(run_id, store.uri, store.is_default, None if store.keeps_texts else store.host)


def log_report(run: Path, page: str, name: str, *, texts: bool) -> Tracked | None:
    """Log the report of a run to the store that tracks it; None if it is not tracked, has grown or was moved.

    A report contains document texts, so a server receives it only with ``texts``.

    Raises:
        InputError: the store no longer exists, or the environment names another one.
        TrackingError: the store failed.
    """
    record = run_files(run).record
    with RunStore.read(run) as store:
        before = store.meta("tracked")
        # Not from run.json, which may be missing or damaged.
        key = _key(record, {"identity": store.meta("digest"), "growth": store.meta("growth")})
    if not before or before["version"] not in {_version(key, texts=sent) for sent in (True, False)}:
        return None
    location = tracking_location(before["store"], create=False)
    if display_uri(location.uri) != before["store"]:
        raise InputError(f"the run is tracked in {before['store']}, but {VARIABLE} names another store")
    host = store_host(location.uri)
    if host is None or texts:
        TrackingStore.open(before["store"], create=False, texts=texts).log_page(before["run_id"], page, name)
    is_default = before["store"] == str(user_folder())
    return Tracked(before["run_id"], location.uri, is_default, None if texts else host)


def log_generation(record: Path, store: TrackingStore, estimate: QualityEstimate | None = None) -> str:
    """Log the contents of ``run.json``, the quality estimate and the samples, and return the MLflow run id.

    A run is logged again only if it has grown. Samples are logged if the store keeps texts. A server receives neither
    document names and queries of users nor model addresses.

    Raises:
        TrackingError: the store failed.
    """
    facts = json.loads(record.read_text(encoding="utf-8"))
    configuration, compiled, judged = facts["configuration"], facts["compiled"], "critic_lm" in facts["models"]
    parameters = {
        **{name: value for name, value in configuration.items() if value is not None},
        "lm_sha256": facts["models"]["lm"].get("sha256") or "",
        **({"critic_lm_sha256": facts["models"]["critic_lm"].get("sha256") or ""} if judged else {}),
        "critic_compiled": facts["critic"],
        "compiled_steps": ", ".join(f"{step} by {state['optimizer']}" for step, state in compiled.items()),
        **{f"version.{name}": version for name, version in facts["versions"].items()},
    }
    if store.host:
        parameters = {name: value for name, value in parameters.items() if name not in ("documents", "chunks", "like")}
        parameters |= {role: facts["models"][role]["name"] for role in ("lm", "critic_lm") if role in facts["models"]}
        kind, _, location = str(parameters.get("vector_store", "")).partition(":")
        if "://" in location:
            parameters["vector_store"] = kind
    names = (
        "accepted", "asked", "attempts", "calls", "prompt_tokens", "evaluated_tokens", "completion_tokens", "seconds",
        "chunks", "documents",
    )  # fmt: skip
    metrics = {name: float(facts[name]) for name in names}
    metrics |= {f"critic_{name}": float(count) for name, count in (facts.get("critic_calls") or {}).items()}
    for step, counts in facts["counts"].items():
        metrics |= {f"{step}_{what}": float(count) for what, count in counts.items()}
    if estimate is not None:
        metrics |= {
            "expected_good": estimate.share,
            "expected_good_low": estimate.low,
            "expected_good_high": estimate.high,
            "expected_good_said_of": float(estimate.covers),
        }
    name = encodable(record.parent.name)
    return store.log_run(name, _key(record, facts), parameters, metrics, record.parent / "samples.jsonl")


def _key(record: Path, facts: Mapping[str, Any]) -> str:
    return f"{encodable(str(record.parent.absolute()))}/{facts['identity']}/{json.dumps(facts.get('growth'))}"


def _version(key: str, *, texts: bool) -> str:
    return hashlib.sha256(f"{key}/{texts}".encode()).hexdigest()[:16]
