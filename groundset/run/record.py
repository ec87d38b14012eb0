"""What is derived from the database of a run: its files for readers."""

import platform
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from typing import Any

from groundset import __version__
from groundset.files import json_text, write_rows, write_text
from groundset.programs.types import Reject, Sample
from groundset.run.folder import RECORD, REJECTS, SAMPLES
from groundset.run.store import Attempt, Review, State, Store

_LIBRARIES = (
    "dspy",
    "faiss-cpu",
    "numpy",
    "pydantic",
    "sentence-transformers",
    "torch",
    "xllamacpp",
)
# What is said wherever figures of a run are shown that was made with --hard.
SELECTED = (
    "Only questions whose chunks searches by meaning and by words find at different ranks were kept"
    " (--hard): differences between systems count, levels of measures are no levels."
)
# What is known of a run that was not generated, unless it says more.
UNKNOWN: Mapping[str, Any] = {
    "configuration": {},
    "models": {},
    "compiled": {},
    "thresholds": {},
    "versions": {},
    "documents": 0,
    "chunks": 0,
}


def run_record(store: Store, attempts: Sequence[Attempt]) -> dict[str, Any]:
    """Return the content of ``run.json``.

    What shaped the run (``configuration``, ``models``, ``compiled``, ``versions``) stands as it was
    written when the run began. ``counts`` has, by step, how often it was tried and how many
    candidates it refused. ``call_seconds`` is the time of all calls, ``seconds`` that of the run.
    """
    samples = samples_in("accepted", attempts)
    rejects = rejects_in(attempts)
    usage = store.usage()
    states = Counter(attempt.state for attempt in attempts)
    record = {
        **UNKNOWN,
        "status": store.meta("status") or "running",
        **{name: store.meta(name) for name in ("reason", "asked", "started", "ended")},
        **counts(samples, rejects),
        "attempts": len(attempts),
        "surplus": states["surplus"],
        "unsure": states["unsure"],
        "counts": _step_counts(attempts),
        "call_seconds": round(usage.pop("seconds"), 2),
        **usage,
        "seconds": round(store.meta("seconds") or 0.0, 2),
        **(store.meta("record") or {}),
    }
    return record | ({"selected": SELECTED} if record["configuration"].get("hard") else {})


def counts(samples: Sequence[Sample], rejects: Sequence[Reject]) -> dict[str, Any]:
    """Return the counts of samples by evolution and kind, and of rejects; ``alternatives`` had
    another chunk found.
    """
    return {
        "accepted": len(samples),
        "evolutions": frequencies(sample.evolution for sample in samples),
        "kinds": frequencies(sample.kind for sample in samples),
        "alternatives": sum(
            any(len(group) > 1 for group in sample.retrieval_gt) for sample in samples
        ),
        "rejects": len(rejects),
    }


def samples_in(state: State, attempts: Iterable[Attempt]) -> list[Sample]:
    """Return the samples in a state, such as the accepted ones, in the order of their attempts."""
    return [each.result.sample for each in attempts if each.state == state and each.result.sample]


def rejects_in(attempts: Iterable[Attempt]) -> list[Reject]:
    """Return what was refused, each with its step and reason, in the order of the attempts."""
    return [reject for attempt in attempts for reject in attempt.result.rejects]


def latest_reviews(reviews: Iterable[Review]) -> dict[str, dict[str, Review]]:
    """Return the last review of each reviewer, by sample and reviewer."""
    latest: dict[str, dict[str, Review]] = defaultdict(dict)
    for review in reviews:
        latest[review.sample_id][review.reviewer] = review
    return latest


def verdicts_of(reviews: Iterable[Review]) -> dict[str, set[str]]:
    """Return the last verdict of every reviewer, by sample."""
    return {
        name: {each.verdict for each in given.values()}
        for name, given in latest_reviews(reviews).items()
    }


def _step_counts(attempts: Iterable[Attempt]) -> dict[str, dict[str, int]]:
    """Return how often each step was tried, and how many candidates it refused."""
    tried: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    for attempt in attempts:
        tried.update(record.step for record in attempt.result.steps)
        refused.update(reject.step for reject in attempt.result.rejects)
    return {
        step: {"tried": tried[step], "refused": refused[step]}
        for step in dict.fromkeys([*tried, *refused])
    }


def write_files(store: Store) -> None:
    """Write the derived files again, each at once; links are not followed.

    Raises:
        InputError: a file cannot be written.
    """
    folder, attempts = store.path.parent, store.attempts()
    rejects = [reject.model_dump(mode="json") for reject in rejects_in(attempts)]
    record = json_text(run_record(store, attempts), indent=2)
    write_rows(folder / SAMPLES, map(sample_row, samples_in("accepted", attempts)), follow=False)
    write_rows(folder / REJECTS, rejects, follow=False)
    write_text(folder / RECORD, f"{record}\n", follow=False)


def sample_row(sample: Sample) -> dict[str, Any]:
    """Return a sample as a row of ``samples.jsonl``."""
    row = sample.model_dump(mode="json")
    for context in row["contexts"]:
        if not context["metadata"]:
            del context["metadata"]
    return row


def question_row(sample: Sample, split: str | None) -> dict[str, Any]:
    """Return a sample as a row; the lists on its contexts have equal length."""
    return {
        "id": sample.id,
        "question": sample.question,
        "answer": sample.answer,
        "evolution": sample.evolution,
        "kind": sample.kind,
        "language": sample.language,
        "split": split,
        "contexts": [chunk.text for chunk in sample.contexts],
        "chunk_ids": [chunk.chunk_id for chunk in sample.contexts],
        "paths": [chunk.path for chunk in sample.contexts],
        "retrieval_gt": [list(group) for group in sample.retrieval_gt],
        "answerable": bool(sample.retrieval_gt),
        "conversation": list(sample.conversation) or None,
        "rank": sample.retrieval.rank,
        "probability": sample.probability,
    }


def library_versions() -> dict[str, str]:
    """Return the versions of what shapes a run."""
    versions = {"groundset": __version__, "python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


def frequencies(names: Iterable[str | None]) -> dict[str, int]:
    """Return how often names occur, the most frequent first."""
    return dict(Counter(filter(None, names)).most_common())


def listed(counts: Mapping[str, int]) -> str:
    """Return counts in words."""
    return ", ".join(f"{name} {count}" for name, count in counts.items())
