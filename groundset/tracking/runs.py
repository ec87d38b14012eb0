"""Tracking of runs."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from groundset.files import encodable
from groundset.store.quality import QualityEstimate, estimate_quality
from groundset.store.record import run_files, write_record
from groundset.store.run_store import RunStore
from groundset.tracking.location import VARIABLE, Place, shown, store_host, tracking_place, user_folder
from groundset.tracking.store import TrackingStore
from programs.errors import InputError


class Tracked(NamedTuple):
    """A tracked run.

    Attributes:
        run_id: the id that the store gave it.
        uri: the store's address.
        usual: whether it is the user's own.
        kept_from: who keeps the store without the samples, None where they are there.
    """

    run_id: str
    uri: str
    usual: bool
    kept_from: str | None = None


def tracked_before(record: Path, place: Place, *, texts: bool) -> Tracked | None:
    """Return the tracked run in a place, None if it is not tracked or has grown since; no store is opened."""
    facts = json.loads(record.read_text(encoding="utf-8"))
    before, host = facts.get("tracked") or {}, store_host(place.uri)
    kept_from = None if texts or host is None else host
    version = _version(_key(record, facts), texts=kept_from is None)
    if (before.get("store"), before.get("version")) != (shown(place.uri), version):
        return None
    return Tracked(before["run_id"], place.uri, place.usual, kept_from)


def track(record: Path, store: TrackingStore) -> Tracked:
    """Log a run, and record in it where it is tracked.

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
        run.set_meta("tracked", {"run_id": run_id, "store": shown(store.uri), "version": version})
        write_record(run, facts["status"], facts["reason"])
    return Tracked(run_id, store.uri, store.usual, None if store.keeps_texts else store.host)


def log_report(run: Path, page: str, name: str, *, texts: bool) -> Tracked | None:
    """Log the report of a run to the store that tracks it; None if it is not, or has grown or moved since.

    A report holds texts of documents. Another machine gets it only with ``texts``; without, ``kept_from`` says who.

    Raises:
        InputError: the store is not there any more, or the environment names another one.
        TrackingError: the store failed.
    """
    record = run_files(run).record
    with RunStore.read(run) as store:
        before = store.meta("tracked")
        # As run.json has them, which may be lost or damaged: a report does without it.
        key = _key(record, {"identity": store.meta("digest"), "growth": store.meta("growth")})
    if not before or before["version"] not in {_version(key, texts=each) for each in (True, False)}:
        return None
    place = tracking_place(before["store"], create=False)
    if shown(place.uri) != before["store"]:
        raise InputError(f"the run is tracked in {before['store']}, and {VARIABLE} names another store")
    host = store_host(place.uri)
    if host is None or texts:
        TrackingStore.open(before["store"], create=False, texts=texts).log_page(before["run_id"], page, name)
    usual = before["store"] == str(user_folder())
    return Tracked(before["run_id"], place.uri, usual, None if texts else host)


def log_generation(record: Path, store: TrackingStore, estimate: QualityEstimate | None = None) -> str:
    """Log a run by its ``run.json``: configuration, counts, tokens, the quality estimate, samples.

    A run that was logged before is not logged again, unless it has grown. Samples are logged if the store keeps texts;
    on another machine no names of documents and no addresses of models are. Returns the id that the store gave it.

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
        parameters = {name: value for name, value in parameters.items() if name not in ("documents", "chunks")}
        parameters |= {role: facts["models"][role]["name"] for role in ("lm", "critic_lm") if role in facts["models"]}
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
