"""The files of a run folder that are derived from its database."""

import json
import platform
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel

from groundset import __version__
from groundset.cost import Price
from groundset.files import json_text, write_rows, write_text
from groundset.store.meta import check_meta
from groundset.store.run_store import RunStore
from programs.errors import DamagedRunError, InputError, RunError
from programs.focus import is_full_question
from programs.types import Chunk, Focus, Reject, Sample

_LIBRARIES = (
    "dspy", "faiss-cpu", "markitdown", "numpy", "py3langid", "pydantic", "sentence-transformers", "torch", "xllamacpp",
)  # fmt: skip


class _Record(BaseModel):
    """The entries of every ``run.json``."""

    status: str
    reason: str | None
    asked: int | None
    identity: str | None


class RunFiles(NamedTuple):
    """The paths of the derived files of a run."""

    record: Path
    samples: Path
    rejects: Path


def run_files(folder: Path) -> RunFiles:
    """Return the paths of the derived files of a run."""
    return RunFiles(folder / "run.json", folder / "samples.jsonl", folder / "rejects.jsonl")


def write_files(store: RunStore, status: str, reason: str | None = None) -> RunFiles:
    """Write ``run.json``, ``samples.jsonl`` and ``rejects.jsonl`` atomically; links are not followed.

    Args:
        store: the run.
        status: ``running``, ``complete``, ``short``, ``budget``, ``interrupted`` or ``failed``.
        reason: why it is not complete.

    Raises:
        RunError: a file cannot be written.
    """
    files = run_files(store.folder)
    with _as_run_error():
        write_rows(files.samples, (sample_row(sample) for sample in store.results.samples()), follow=False)
        write_rows(files.rejects, (reject_row(reject) for reject in store.results.rejects()), follow=False)
    write_record(store, status, reason)
    return files


def write_record(store: RunStore, status: str, reason: str | None = None) -> None:
    """Write ``run.json`` alone; links are not followed.

    Raises:
        RunError: it cannot be written.
    """
    text = json_text(run_record(store, status, reason), indent=2)
    with _as_run_error():
        write_text(run_files(store.folder).record, text + "\n", follow=False)


def read_record(folder: Path) -> dict[str, Any]:
    """Read and validate ``run.json``.

    Raises:
        InputError: it cannot be read, or is damaged; the message names it.
    """
    file = run_files(folder).record
    try:
        record: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        _Record.model_validate(record)
        for name in record.keys() - {"identity"}:  # a digest here, an object in the database
            check_meta(name, record[name])
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"cannot read {file}: it is damaged") from error
    return record


def run_record(store: RunStore, status: str, reason: str | None = None) -> dict[str, Any]:
    """Return the content of ``run.json``.

    ``counts`` has the step records (``tried``) and refused candidates (``refused``) of each step; a step that
    refuses before it records anything counts as refusing only. A run with a ``lineage`` does not repeat the cost
    and counts of its parents. ``search`` is the index of the last process and its recall at 10 against exact
    search. ``critic_calls`` are the calls and tokens of a separate judging model, and ``servers`` the answers and
    failures of each server.
    """
    calls = store.calls.totals()
    started, seconds = store.spent()
    documents, chunks = store.corpus_size()
    evolutions = store.results.evolution_counts()
    return {
        "status": status,
        "reason": reason,
        "asked": store.meta("asked"),
        "accepted": sum(evolutions.values()),
        "evolutions": evolutions,
        "attempts": store.attempts.decided(),
        "growth": store.meta("growth"),
        "mode": mode_record(store),
        "language": store.meta("language"),
        "kinds": store.results.kind_counts(),
        "alternatives": store.results.alternative_counts(),
        "counts": step_counts(store),
        "calls": calls.calls,
        "prompt_tokens": calls.prompt_tokens,
        "evaluated_tokens": calls.evaluated_tokens,
        "completion_tokens": calls.completion_tokens,
        "call_seconds": round(calls.seconds, 2),
        "critic_calls": critic_calls(store),
        "servers": [{**each._asdict(), "seconds": round(each.seconds, 2)} for each in store.servers.counts()],
        "cost": cost_record(store),
        "seconds": round(seconds, 2),
        "started": started,
        "critic": store.required("models", "critic").get("compiled"),
        "compiled": store.meta("compiled"),
        "models": store.required("models"),
        "configuration": store.meta("configuration"),
        "identity": store.meta("digest"),
        "documents": documents,
        "chunks": chunks,
        "corpus": store.meta("corpus"),
        "skipped": store.meta("skipped"),
        "search": store.meta("search"),
        "agenda": store.meta("agenda"),
        "tracked": store.meta("tracked"),
        "lineage": store.meta("lineage"),
        "program": store.required("identity", "program"),
        "versions": library_versions(),
    }


def by_rule(samples: Iterable[Sample]) -> int:
    """Return how many questions consist of a syntactic opening and a question mark."""
    return sum(sample.question in _of_rules(sample) for sample in samples)


def _of_rules(sample: Sample) -> set[str]:
    """Return the questions of a sample's trail that were worded by syntax alone."""
    openings = [str(record.output.get("opening") or "") for record in sample.trail if record.step == "question"]
    return {f"{opening}?" for opening in openings if is_full_question(Focus(sentence="", answer="", opening=opening))}


def mode_record(store: RunStore) -> dict[str, Any] | None:
    """Return the entry of the mode, None for runs of earlier versions.

    ``by_rule`` and ``by_model`` count the questions worded by syntax and by the model; ``missing`` counts the missing
    samples of each evolution of the mix.
    """
    mode = store.meta("mode")
    if mode is None:
        return None
    total = store.results.count()
    rule = by_rule(store.results.samples())
    shares, made = store.meta("shares") or {}, store.results.evolution_counts()
    missing = {name: share - made.get(name, 0) for name, share in shares.items() if made.get(name, 0) < share}
    return {**mode, "by_rule": rule, "by_model": total - rule, "missing": missing}


def critic_calls(store: RunStore) -> dict[str, float] | None:
    """Return the calls and tokens of a separate judging model, None if there is none."""
    if "critic_lm" not in store.required("models"):
        return None
    totals = store.critic_calls.totals()
    return {**totals._asdict(), "seconds": round(totals.seconds, 2)}


def stored_price(store: RunStore) -> Price | None:
    """Return the price that the user gave last, None if there is none."""
    found = store.meta("price")
    return Price(*found) if found else None


def cost_record(store: RunStore) -> dict[str, Any] | None:
    """Return the price, and the cost of all language models in total and for each sample; None without a price."""
    price = stored_price(store)
    if price is None:
        return None
    total = sum(price.of_usage(table.totals()._asdict()) for table in (store.calls, store.critic_calls))
    made = store.results.count()
    return {"price": price._asdict(), "total": total, "per_sample": total / made if made else None}


def step_counts(store: RunStore) -> dict[str, dict[str, int]]:
    """Return the tried and refused candidates of each step, over decided attempts."""
    tried, refused = store.attempts.step_counts(), store.results.reject_counts()
    return {
        step: {"tried": tried.get(step, 0), "refused": refused.get(step, 0)}
        for step in dict.fromkeys([*tried, *refused])
    }


def sample_row(sample: Sample) -> dict[str, Any]:
    """Return a sample as a row of ``samples.jsonl``; ``split`` is omitted if there is none."""
    row = sample.model_dump(mode="json", exclude=None if sample.split else {"split"})
    return {**row, "contexts": [_context(chunk) for chunk in sample.contexts]}


def reject_row(reject: Reject) -> dict[str, Any]:
    """Return a reject as a row of ``rejects.jsonl``."""
    return {
        "step": reject.step,
        "reason": reject.reason,
        "probability": reject.probability,
        "question": reject.question,
        "chunk_id": reject.chunk_id,
    }


def library_versions() -> dict[str, str]:
    """Return the versions of the libraries that affect a run."""
    versions = {"groundset": __version__, "python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


def _context(chunk: Chunk) -> dict[str, Any]:
    return chunk.model_dump(mode="json", exclude=None if chunk.metadata else {"metadata"})


@contextmanager
def _as_run_error() -> Iterator[None]:
    """Turn an :class:`InputError` into a :class:`RunError`: the folder was writable when the run started."""
    try:
        yield
    except DamagedRunError:
        raise
    except InputError as error:
        raise RunError(str(error)) from error
