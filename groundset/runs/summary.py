"""What a run says at its end: what was kept, what was refused and why, what it took, what is next."""

import shlex
from collections import Counter

from groundset.runs.progress import duration
from groundset.runs.record import RunFiles
from groundset.runs.store import RunStore

_REASONS = 3


def account(store: RunStore, reason: str | None) -> list[str]:
    """Return what became of a run: what was kept, what was refused, what it took; ``reason`` says why not more."""
    asked = store.meta("asked")
    evolutions = store.results.evolution_counts()
    accepted = sum(evolutions.values())
    kinds = ", ".join(f"{name} {count}" for name, count in evolutions.items())
    documents, chunks = store.corpus_size()
    lines = [
        f"Kept {accepted} of {asked} samples{f' ({kinds})' if kinds else ''} "
        f"from {store.attempts.decided()} attempts on {chunks} chunks of {documents} documents."
    ]
    lines += _growth(store)
    if reason:
        lines.append(f"{reason[:1].upper()}{reason[1:]}")
    return [*lines, *_expected(store, accepted), *_alternatives(store), _refused(store), _cost(store)]


def summarise(store: RunStore, files: RunFiles, status: str, reason: str | None) -> list[str]:
    """Return the lines that a command says at the end of a run: what became of it, its files, what is next."""
    folder = shlex.quote(str(store.folder))
    lines = account(store, reason)
    lines.append(f"Files: {files.samples}, {files.rejects.name}, {files.record.name}.")
    if status in ("interrupted", "failed"):
        lines.append(
            f"To go on: the same command or call again, or groundset generate --config {folder}/run.json --out {folder}"
        )
    elif store.results.evolution_counts():
        lines.append(f"Next: groundset show {folder}, or groundset export {folder} --format autorag --out DIR")
    else:
        lines.append(f"Next: groundset show {folder} --rejects")
    return lines


def shortage(store: RunStore) -> str:
    """Return why a run ended with fewer samples than were asked for."""
    configuration = store.meta("configuration")
    missing = store.meta("asked") - sum(store.results.evolution_counts().values())
    easy = configuration.get("ask") == "easy" and configuration["parser"] != "none"
    reasons = store.results.reasons().items()
    refused = Counter({f"{step}: {reason}": count for step, found in reasons for reason, count in found.items()})
    most = ", ".join(f"{name} ({count})" for name, count in refused.most_common(_REASONS))
    agenda = ", ".join(f"{count} {name}" for name, count in store.meta("agenda").items())
    asked = "asked what is easy to ask" if easy else "asked about as often as they bear"
    mend = "More documents or a lower --size would help"
    further = "; --ask all, in the same folder, goes on to what is hard, where about one question in two is good"
    return (
        f"all chunks were {asked}, and {missing} samples are missing. There were {agenda}"
        f"{f'; refused most: {most}' if most else ''}. {mend}{further if easy else ''}."
    )


def _growth(store: RunStore) -> list[str]:
    """Return what a run that grew was asked for, in order."""
    growth = store.meta("growth") or []
    told, before = [], {}
    for each in growth:
        options = [f"--{name} {value}" for name, value in each.items() if name not in ("first", "size")]
        size = "one sample for each chunk" if each["size"] is None else f"{each['size']} samples"
        changed = [option for option in options if before and option not in before]
        told.append(f"{size}{' with ' if changed else ''}{', '.join(changed)}")
        before = options
    if len(told) < 2:
        return []
    later = [f"for {text} from attempt {each['first'] + 1} on" for text, each in zip(told[1:], growth[1:], strict=True)]
    return [f"The set grew: it was asked for {told[0]} at first, {', '.join(later)}."]


def _expected(store: RunStore, accepted: int) -> list[str]:
    """Return what share of the accepted questions to expect good, where a compiled critic knows."""
    promise = store.meta("compiled").get("judge", {})
    if not accepted or "expected_good" not in promise:
        return []
    low, high = promise["interval"]
    return [
        f"Of labelled questions, {promise['expected_good']:.0%} ({low:.0%} to {high:.0%}) of those that pass this "
        "critic are good."
    ]


def _alternatives(store: RunStore) -> list[str]:
    """Return how often another chunk does as well as the one that a question was made from."""
    counts = store.results.alternative_counts()
    if not counts["samples"]:
        return []
    changed = f"; for {counts['rank_changed']} that changed the rank" if counts["rank_changed"] else ""
    verb = "is" if counts["samples"] == 1 else "are"
    return [f"{counts['samples']} of the questions {verb} answered by another chunk just as well{changed}."]


def _refused(store: RunStore) -> str:
    reasons = store.results.reasons()
    if not reasons:
        return "Refused nothing."
    total = sum(found.total() for found in reasons.values())
    steps = sorted(reasons.items(), key=lambda item: -item[1].total())
    told = []
    for step, found in steps:
        main = ", ".join(f"{count} {reason}" for reason, count in found.most_common(_REASONS))
        told.append(f"{found.total()} {step} ({main})")
    return f"Refused {total}: {'; '.join(told)}."


def _cost(store: RunStore) -> str:
    calls = store.calls.totals()
    _, seconds = store.spent()
    return (
        f"Took {duration(seconds)}, {calls.calls:,} language model calls, {calls.prompt_tokens:,} prompt tokens "
        f"({calls.evaluated_tokens:,} evaluated), {calls.completion_tokens:,} written."
    )
