"""What is derived from the database of a run: its files for readers, and the lines that it ends
with.
"""

import platform
import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib import metadata
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from groundset import __version__
from groundset.files import json_line, json_text, write_rows, write_text
from groundset.printing import counted, duration
from groundset.programs.errors import InputError
from groundset.programs.forms import UNSURE
from groundset.programs.types import Reject, Sample
from groundset.programs.untrusted import numbered_lines
from groundset.retrieval.index import settled
from groundset.run.store import RECORD, REJECTS, SAMPLES, Attempt, Review, State, Store
from groundset.stats import sight

if TYPE_CHECKING:
    from groundset.run.run import Run

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
_MOST_PAIRS = 5  # of documents
_REASONS = 3  # of each step


def run_record(store: Store, attempts: Sequence[Attempt]) -> dict[str, Any]:
    """Return the content of ``run.json``.

    What shaped the run (``configuration``, ``models``, ``compiled``, ``versions``) stands as it was
    written when the run began. ``counts`` has, by step, how often it was tried and how many
    candidates it refused. ``call_seconds`` is the time of all calls, ``seconds`` that of the run.
    """
    samples = samples_in("accepted", attempts)
    rejects = [reject for attempt in attempts for reject in attempt.result.rejects]
    usage, price = store.usage(), store.meta("price")
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
        "cost": None,
    }
    if price is not None:  # of a million prompt tokens, and of a million generated ones
        total = (usage["prompt_tokens"] * price[0] + usage["generated_tokens"] * price[1]) / 1e6
        record["cost"] = {
            "price": price,
            "total": total,
            "per_sample": total / len(samples) if samples else None,
        }
    record |= store.meta("record") or {}
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


def signed(run: "Run") -> dict[str, bool]:
    """Return whether all who reviewed a sample signed it, by the id of each reviewed sample."""
    ids = {sample.id for sample in run.samples}
    return {
        name: given == {"signed"} for name, given in verdicts_of(run.reviews).items() if name in ids
    }


def _step_counts(attempts: Iterable[Attempt]) -> dict[str, dict[str, int]]:
    """Return how often each step was tried, and how many candidates it refused."""
    tried: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    for attempt in attempts:
        trail = attempt.result.sample.trail if attempt.result.sample else attempt.result.trail
        tried.update(record.step for record in trail)
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
    rejects = (
        reject.model_dump(mode="json") for attempt in attempts for reject in attempt.result.rejects
    )
    write_rows(folder / SAMPLES, map(sample_row, samples_in("accepted", attempts)), follow=False)
    write_rows(folder / REJECTS, rejects, follow=False)
    write_text(
        folder / RECORD, json_text(run_record(store, attempts), indent=2) + "\n", follow=False
    )


def edited(run: "Run") -> Iterator[str]:
    """Yield a line on samples.jsonl, which is never read, if somebody changed it."""
    file = run.folder / SAMPLES
    rows = (json_line(sample_row(sample)).encode() for sample in run.samples)
    # It may have been moved away, or be no file of rows any more.
    with suppress(InputError):
        lines = (line + b"\n" for _, line in numbered_lines(file))
        is_same = all(line == row for line, row in zip_longest(lines, rows))
        if run.status != "running" and not is_same:
            yield (
                f"{file} was changed by hand, which has no effect: refuse samples with"
                f" `groundset review {run.folder}`, or keep some with run.filter(...).save(FOLDER)"
                " in Python"
            )


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


def summary(run: "Run") -> Iterator[str]:
    """Yield the lines that end a run."""
    status, folder = run.status, shlex.quote(str(run.folder))
    yield from account(run)
    yield from _sight(run)
    yield f"Files: {run.folder / SAMPLES}, {REJECTS}, {RECORD}."
    if status in ("interrupted", "failed", "budget"):
        more = " with a larger budget" if status == "budget" else ""
        yield f"To go on: the same command{more}."
    elif len(run):
        yield (
            f"Next: groundset review {folder}, or groundset export {folder} --format autorag"
            " --out DIR"
        )
    else:
        yield (
            f"Next: groundset show {folder} --rejects says why; a larger --lm in another --out"
            " makes more"
        )


def _sight(run: "Run") -> Iterator[str]:
    """Yield a line on what the questions can tell apart."""
    samples = [sample for sample in run.samples if sample.retrieval_gt]
    if samples:
        groups = [len(sample.retrieval_gt) for sample in samples]
        first, never = settled([[sample.retrieval.rank for sample in samples]], groups)
        yield f"Its own search finds {first} first and {never} not at all; {sight(len(samples))}."
    if selected := run.record.get("selected"):
        yield selected


def account(run: "Run") -> Iterator[str]:
    """Yield the lines on what was kept, what was refused and what it cost."""
    record = run.record
    yield (
        f"Kept {record['accepted']} of"
        f" {counted(record['asked'], 'sample')}{_counts(record['evolutions'])} from"
        f" {counted(record['attempts'], 'attempt')} on {counted(record['chunks'], 'chunk')}"
        f" of {counted(record['documents'], 'document')}."
    )
    if record["surplus"]:
        yield f"{counted(record['surplus'], 'good question')} beyond that: used when --size grows."
    if record["unsure"]:
        yield (
            f"{counted(record['unsure'], 'question')} unsure: `groundset review` shows what was"
            " read, and takes your answers."
        )
    if record["kinds"]:
        yield f"Kinds of question: {listed(record['kinds'])}."
    if record["reason"]:
        yield f"{record['reason'][:1].upper()}{record['reason'][1:]}."
    if record["alternatives"]:
        yield (
            f"{counted(record['alternatives'], 'question')} can also be answered from another"
            " chunk."
        )
    for pair in contradictions(run)[:_MOST_PAIRS]:
        yield (
            f"{pair['first']} and {pair['second']} say different things"
            f" ({counted(pair['questions'], 'question')}): metadata.variants has their answers."
        )
    questions = [each for each in run.rejects if each.question and each.step != UNSURE]
    passages = [each for each in run.rejects if not each.question]
    for what, rejects in (("question", questions), ("passage", passages)):
        if rejects:
            yield f"Refused {counted(len(rejects), what)}: {_by_step(rejects)}."
    if record["calls"]:
        yield (
            f"Took {duration(record['seconds'])}, {counted(record['calls'], 'call')} with"
            f" {record['prompt_tokens']:,} prompt tokens ({record['cached_tokens']:,} cached) and"
            f" {record['generated_tokens']:,} generated ones."
        )
    if record["cost"]:
        each = record["cost"]["per_sample"]
        sample = "" if each is None else f", {each:,.4f} a sample"
        yield f"Cost {record['cost']['total']:,.2f}{sample}."


def contradictions(run: "Run") -> list[dict[str, Any]]:
    """Return the pairs of documents, by their paths, that answer a question differently, and how
    many questions; those with most come first.
    """
    pairs: Counter[tuple[str, str]] = Counter()
    for sample in run.samples:
        found = set()
        for each in sample.variants:
            # Imported sets may mean something else by this name.
            if each.get("chunk_id") in run.chunks:
                own, other = sample.contexts[each.get("place", 0)], run.chunks[each["chunk_id"]]
                found.add((min(own.path, other.path), max(own.path, other.path)))
        pairs.update((first, second) for first, second in found if first != second)
    return [
        {"first": first, "second": second, "questions": count}
        for (first, second), count in pairs.most_common()
    ]


def shortage(quotas: Mapping[str, int], made: Mapping[str, int]) -> str:
    """Return why a run ended with fewer samples than were asked for."""
    missing = Counter(quotas) - Counter(made)
    mend = "add documents, take a larger --lm, or lower --size"
    return f"nothing is left to ask in these chunks, missing{_counts(missing)}; {mend}"


def _counts(counts: Mapping[str, Any]) -> str:
    return f" ({listed(counts)})" if counts else ""


def frequencies(names: Iterable[str | None]) -> dict[str, int]:
    """Return how often names occur, the most frequent first."""
    return dict(Counter(filter(None, names)).most_common())


def listed(counts: Mapping[str, int]) -> str:
    """Return counts in words."""
    return ", ".join(f"{name} {count}" for name, count in counts.items())


def _by_step(rejects: Sequence[Reject]) -> str:
    """Return the steps with their main reasons, the most frequent first."""
    parts = []
    for step, count in frequencies(reject.step for reject in rejects).items():
        reasons = Counter(
            reject.reason.split(":")[0][:100] for reject in rejects if reject.step == step
        )
        parts.append(f"{step} {count} ({listed(dict(reasons.most_common(_REASONS)))})")
    return "; ".join(parts)
