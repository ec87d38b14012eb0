"""The summary of a run: accepted samples, rejects with their reasons, cost, and next commands."""

import shlex
from collections import Counter
from collections.abc import Collection, Mapping
from itertools import pairwise
from typing import Any

from groundset.cost import money
from groundset.options import DEFAULT_LM
from groundset.progress import counted, duration, of_requested
from groundset.store.calls import CallTotals
from groundset.store.lineage import Lineage
from groundset.store.quality import estimate_quality, is_of_runs
from groundset.store.record import RunFiles, cost_record, mode_record
from groundset.store.run_store import RunStore
from programs.languages.names import name_of

_REASONS = 3


def account(store: RunStore, reason: str | None) -> list[str]:
    """Return the lines on accepted samples, rejects and cost; ``reason`` says why samples are missing."""
    lineage = store.meta("lineage")
    lines = [_derived(store, lineage) if lineage else _generated(store)]
    if kinds := store.results.kind_counts():
        lines.append(f"Question kinds: {', '.join(f'{kind} {count}' for kind, count in kinds.items())}.")
    lines += [*_growth(store), *_mode(store), *_language(store)]
    if reason:
        lines.append(f"{reason[:1].upper()}{reason[1:]}")
    lines += [*_estimate(store), *_alternatives(store)]
    if lineage:
        return lines
    return [*lines, _refused(store), *_skipped(store), *_cost(store)]


def summarise(store: RunStore, files: RunFiles, status: str, reason: str | None) -> list[str]:
    """Return the lines that end a command: the account of the run, its files and the next commands."""
    folder = shlex.quote(str(store.folder))
    lines = account(store, reason)
    lines.append(f"Files: {files.samples}, {files.rejects.name}, {files.record.name}.")
    if status in ("interrupted", "failed", "budget"):
        command = f"groundset generate --config {folder}/run.json --out {folder}"
        same = (
            "the same command or call with a larger budget or none"
            if status == "budget"
            else "the same command or call"
        )
        lines.append(f"To continue: {same}, or {command}")
    elif store.results.evolution_counts():
        lines.append(f"Next: groundset review {folder}, or groundset export {folder} --format autorag --out DIR")
        lines += _better_model(store)
    else:
        lines.append(f"Next: groundset show {folder} --rejects")
    return lines


def shortage(store: RunStore) -> str:
    """Return why a run ended with fewer samples than requested."""
    configuration = store.required("configuration")
    missing = store.required("asked") - sum(store.results.evolution_counts().values())
    easy = configuration.get("ask") == "easy" and configuration.get("parser") != "none"
    reasons = store.results.reasons().items()
    refused = Counter({f"{step}: {reason}": count for step, found in reasons for reason, count in found.items()})
    most = ", ".join(f"{name} ({count})" for name, count in refused.most_common(_REASONS))
    agenda = ", ".join(f"{name} {count}" for name, count in store.required("agenda").items())
    tried = "easy questions (begun by the grammar of a sentence)" if easy else "questions"
    hint = "; --ask all adds hard questions to the same run, about half of which are good"
    return (
        f"{missing} samples are missing: no {tried} are left in these chunks. Available: {agenda}"
        f"{f'; main rejects: {most}' if most else ''}. Add documents or lower --size{hint if easy else ''}."
    )


def _generated(store: RunStore) -> str:
    documents, chunks = store.corpus_size()
    return (
        f"Kept {of_requested(store.results.count(), store.meta('asked'))}{_evolutions(store)} "
        f"from {store.attempts.decided()} attempts on {chunks} chunks of {documents} documents."
    )


def _derived(store: RunStore, lineage: Mapping[str, Any]) -> str:
    documents, chunks = store.corpus_size()
    return (
        f"{counted(store.results.count(), 'sample')}{_evolutions(store)} on {counted(chunks, 'chunk')} of "
        f"{counted(documents, 'document')}, made by {Lineage.model_validate(lineage).command_line()}."
    )


def _evolutions(store: RunStore) -> str:
    counts = ", ".join(f"{name} {count}" for name, count in store.results.evolution_counts().items())
    return f" ({counts})" if counts else ""


def _growth(store: RunStore) -> list[str]:
    """Return the line on the successive requests of a run that grew."""
    growth = store.meta("growth") or []
    if len(growth) < 2:
        return []
    requests = [f"first {_request(growth[0], growth[0])}"]
    for old, new in pairwise(growth):
        unchanged = [name for name in new if name in ("first", "size") or new[name] == old[name]]
        requests.append(f"from attempt {new['first'] + 1} {_request(new, unchanged)}")
    return [f"Requested samples: {', '.join(requests)}."]


def _request(request: Mapping[str, Any], omitted: Collection[str]) -> str:
    size = "one for each chunk" if request["size"] is None else str(request["size"])
    options = [f"--{name} {value}" for name, value in request.items() if name not in omitted]
    return f"{size}{' with ' if options else ''}{', '.join(options)}"


def _estimate(store: RunStore) -> list[str]:
    """Return the line on the quality estimate, if the critic has one."""
    total = sum(store.results.evolution_counts().values())
    compiled = store.meta("compiled")
    estimate = estimate_quality(compiled, store.results.samples())
    if _writes_freely(store):
        return []
    fewer = "reviewers accept fewer of these"
    if estimate is None and total and is_of_runs(compiled):
        return [f"None of these questions came from sentence syntax; {fewer}. Review all of them."]
    if estimate is None:
        return []
    good, low, high = (round(100 * share) for share in (estimate.share, estimate.low, estimate.high))
    source = "questions of other runs" if estimate.of_runs else "labelled questions"
    line = f"Expect about {good} of 100 such questions to be good ({low} to {high}, measured on {source})"
    if others := total - estimate.covers:
        line += f"; this covers the {estimate.covers} from sentence syntax, not the other {others}: {fewer}"
    return [f"{line}. Review them before use."]


def _writes_freely(store: RunStore) -> bool:
    from programs.modes import MODES  # imports DSPy

    mode = MODES.get((store.meta("mode") or {}).get("name", ""))
    return mode is not None and mode.writes_freely


def _better_model(store: RunStore) -> list[str]:
    """Return the hint at larger models, if the default one was used."""
    if ((store.meta("models") or {}).get("lm") or {}).get("name") != DEFAULT_LM:
        return []
    return [
        "A larger model can read whole passages and also ask how, why and across passages: "
        "--lm openai/MODEL@URL for a server, --lm FILE.gguf for a local file."
    ]


def _mode(store: RunStore) -> list[str]:
    """Return the lines on the mode: why it was chosen, how questions were worded, what the mix lacks."""
    mode = mode_record(store)
    if mode is None or not store.results.count():
        return []
    rule, written = mode["by_rule"], mode["by_model"]
    worded = f"{rule} questions were worded from sentence syntax, {written} by the model" if rule else ""
    lines = [f"Mode {mode['name']} ({mode['why']}): {worded or 'the model wrote every question'}."]
    if mode["missing"] and sum(map(bool, (store.meta("shares") or {}).values())) > 1:
        missing = ", ".join(f"{count} {name}" for name, count in mode["missing"].items())
        reason = (
            "; these documents or this model yield no more" if store.meta("ending") in ("complete", "short") else ""
        )
        lines.append(f"Missing from the mix{'' if reason else ' so far'}: {missing}{reason}.")
    if _writes_freely(store):
        lines.append("The share of good questions has not been measured for this model. Review all of them.")
    return lines


def _language(store: RunStore) -> list[str]:
    """Return the line on the requested language, if there is one."""
    found = store.meta("language")
    if found is None:
        return []
    name = name_of(found["code"])
    if (chunks := found.get("chunks")) is not None:
        total = store.corpus_size()[1]
        return [f"Language {name}: {chunks} of {total} chunks are in it; --mode free asks about all chunks."]
    if not found["file"]:
        return [f"Language {name}."]
    adapted = f"{found['adapted']} of {found['adapted'] + found['english']} prompts were adapted"
    file = f"; {found['file']} says why the others were not" if found["english"] else f": {found['file']}"
    return [f"Language {name}: {adapted}{file}."]


def _alternatives(store: RunStore) -> list[str]:
    """Return the line on questions that another chunk answers as well."""
    counts = store.results.alternative_counts()
    if not counts["samples"]:
        return []
    improved = f", which improved the rank of {counts['rank_changed']}" if counts["rank_changed"] else ""
    return [f"{counted(counts['samples'], 'question')} can also be answered from another chunk{improved}."]


def _refused(store: RunStore) -> str:
    reasons = store.results.reasons()
    if not reasons:
        return "Refused no question."
    total, by_step = _by_step(reasons)
    return f"Refused {counted(total, 'question')}, by step: {by_step}."


def _skipped(store: RunStore) -> list[str]:
    """Return the line on chunks without a question."""
    reasons = store.results.reasons(skipped_chunks=True)
    if not reasons:
        return []
    total, by_step = _by_step(reasons)
    return [f"Skipped {counted(total, 'chunk')} without a question, by step: {by_step}."]


def _by_step(reasons: Mapping[str, Counter[str]]) -> tuple[int, str]:
    """Return the number of rejects, and a text with the steps and their main reasons, the most frequent first."""
    steps = []
    for step, found in sorted(reasons.items(), key=lambda item: -item[1].total()):
        main = ", ".join(f"{reason}: {count}" for reason, count in found.most_common(_REASONS))
        steps.append(f"{step} {found.total()} ({main})")
    return sum(found.total() for found in reasons.values()), "; ".join(steps)


def _cost(store: RunStore) -> list[str]:
    """Return the lines on the cost of the run, and of a separate judging model."""
    _, seconds = store.spent()
    lines = [f"Took {duration(seconds)}, {_calls(store.calls.totals())}."]
    if judging := (store.meta("models") or {}).get("critic_lm"):
        lines.append(f"{judging['name']} judged: {_calls(store.critic_calls.totals())}.")
    if cost := cost_record(store):
        each = "" if cost["per_sample"] is None else f", {money(cost['per_sample'])} a sample"
        prompt, generated = cost["price"].values()
        lines.append(f"Cost {money(cost['total'])}{each}, at {prompt:g} and {generated:g} a million tokens.")
    return lines


def _calls(calls: CallTotals) -> str:
    return (
        f"{calls.calls:,} language model calls, {calls.prompt_tokens:,} prompt tokens "
        f"({calls.evaluated_tokens:,} uncached), {calls.completion_tokens:,} generated"
    )
