"""The summary of a run: what was accepted, what was refused and why, what it cost, what comes next."""

import shlex
from collections import Counter
from collections.abc import Collection, Mapping
from itertools import pairwise
from typing import Any

from groundset.options import DEFAULT_LM
from groundset.progress import counted, duration, of_requested
from groundset.store.calls import CallTotals
from groundset.store.lineage import Lineage
from groundset.store.quality import estimate_quality, is_of_runs
from groundset.store.record import RunFiles, mode_record
from groundset.store.run_store import RunStore

_REASONS = 3


def account(store: RunStore, reason: str | None) -> list[str]:
    """Return the lines on accepted samples, rejects and cost; ``reason`` says why there are not more samples."""
    made_from = store.meta("lineage")
    lines = [_made_from(store, made_from) if made_from else _kept(store)]
    if asked_for := store.results.kind_counts():
        lines.append(f"The questions ask for: {', '.join(f'{kind} {count}' for kind, count in asked_for.items())}.")
    lines += [*_growth(store), *_mode(store)]
    if reason:
        lines.append(f"{reason[:1].upper()}{reason[1:]}")
    lines += [*_expected(store), *_alternatives(store)]
    if made_from:
        return lines
    return [*lines, _refused(store), *_passed_over(store), *_cost(store)]


def summarise(store: RunStore, files: RunFiles, status: str, reason: str | None) -> list[str]:
    """Return the lines that end a command: the account of the run, its files, what comes next."""
    folder = shlex.quote(str(store.folder))
    lines = account(store, reason)
    lines.append(f"Files: {files.samples}, {files.rejects.name}, {files.record.name}.")
    if status in ("interrupted", "failed"):
        lines.append(
            f"To go on: the same command or call again, or groundset generate --config {folder}/run.json --out {folder}"
        )
    elif store.results.evolution_counts():
        lines.append(
            f"Next: groundset review {folder} to read them, or groundset export {folder} --format autorag --out DIR"
        )
        lines += _better_model(store)
    else:
        lines.append(f"Next: groundset show {folder} --rejects")
    return lines


def shortage(store: RunStore) -> str:
    """Return why a run ended with fewer samples than were asked for."""
    configuration = store.required("configuration")
    missing = store.required("asked") - sum(store.results.evolution_counts().values())
    easy = configuration.get("ask") == "easy" and configuration.get("parser") != "none"
    reasons = store.results.reasons().items()
    refused = Counter({f"{step}: {reason}": count for step, found in reasons for reason, count in found.items()})
    most = ", ".join(f"{name} ({count})" for name, count in refused.most_common(_REASONS))
    agenda = ", ".join(f"{name} {count}" for name, count in store.required("agenda").items())
    how = "what is easy (where the grammar of a sentence begins the question)" if easy else "as often as makes sense"
    fix = "More documents or a lower --size would help"
    further = "; --ask all, in the same folder, goes on to what is hard, where about one question in two is good"
    return (
        f"every passage was asked {how}, and {missing} samples are missing. What there was: {agenda}"
        f"{f'; refused most: {most}' if most else ''}. {fix}{further if easy else ''}."
    )


def _kept(store: RunStore) -> str:
    documents, chunks = store.corpus_size()
    return (
        f"Kept {of_requested(store.results.count(), store.meta('asked'))}{_evolutions(store)} "
        f"from {store.attempts.decided()} attempts on {chunks} chunks of {documents} documents."
    )


def _made_from(store: RunStore, lineage: Mapping[str, Any]) -> str:
    documents, chunks = store.corpus_size()
    return (
        f"{counted(store.results.count(), 'sample')}{_evolutions(store)} on {counted(chunks, 'chunk')} of "
        f"{counted(documents, 'document')}, made by {Lineage.model_validate(lineage).command_line()}."
    )


def _evolutions(store: RunStore) -> str:
    counts = ", ".join(f"{name} {count}" for name, count in store.results.evolution_counts().items())
    return f" ({counts})" if counts else ""


def _growth(store: RunStore) -> list[str]:
    """Return the successive requests of a run that grew."""
    growth = store.meta("growth") or []
    if len(growth) < 2:
        return []
    demands = [_asked_for(growth[0], growth[0])]
    for before, now in pairwise(growth):
        same = [name for name in now if name in ("first", "size") or now[name] == before[name]]
        demands.append(f"for {_asked_for(now, same)} from attempt {now['first'] + 1} on")
    return [f"The set grew: it was asked for {demands[0]} at first, {', '.join(demands[1:])}."]


def _asked_for(asked: Mapping[str, Any], omitted: Collection[str]) -> str:
    size = "one sample for each chunk" if asked["size"] is None else f"{asked['size']} samples"
    options = [f"--{name} {value}" for name, value in asked.items() if name not in omitted]
    return f"{size}{' with ' if options else ''}{', '.join(options)}"


def _expected(store: RunStore) -> list[str]:
    """Return the line on the quality estimate, if the critic has one."""
    total = sum(store.results.evolution_counts().values())
    compiled = store.meta("compiled")
    estimate = estimate_quality(compiled, store.results.samples())
    if _asked_freely(store):
        return []
    if estimate is None and total and is_of_runs(compiled):
        return ["None of these questions was easy to ask, and readers sign fewer of such: read them all."]
    if estimate is None:
        return []
    good, low, high = (round(100 * share) for share in (estimate.share, estimate.low, estimate.high))
    whose = "questions of other runs" if estimate.of_runs else "labelled questions"
    line = f"Expect about {good} of 100 questions like these to be good ({low} to {high}, measured on {whose})"
    if others := total - estimate.covers:
        line += f"; this holds for the {estimate.covers} that were easy to ask, not for the other {others}"
        line += ", of which readers sign fewer"
    return [f"{line}; read them before you rely on them."]


def _asked_freely(store: RunStore) -> bool:
    from programs.modes import MODES  # imports dspy, which most who read a run do without

    mode = MODES.get((store.meta("mode") or {}).get("name", ""))
    return mode is not None and mode.writes_freely


def _better_model(store: RunStore) -> list[str]:
    """Return the line on what a better model would add, if the smallest one was used."""
    if ((store.meta("models") or {}).get("lm") or {}).get("name") != DEFAULT_LM:
        return []
    return [
        "A larger model would read whole passages and ask how, why and across passages too: "
        "--lm openai/MODEL@URL names one on a server, --lm FILE.gguf one of your own."
    ]


def _mode(store: RunStore) -> list[str]:
    """Return the lines on the mode: why it was chosen, who worded the questions, what the mix lacks."""
    mode = mode_record(store)
    if mode is None or not store.results.count():
        return []
    rule, written = mode["by_rule"], mode["by_model"]
    whose = f"the words of {rule} questions were given by the syntax of a sentence, those of {written} by the model"
    if not rule:
        whose = "the model wrote every question"
    lines = [f"Asked in mode {mode['name']} ({mode['why']}): {whose}."]
    if mode["missing"] and len(store.meta("shares") or {}) > 1:  # of a single evolution the size says it
        missing = ", ".join(f"{count} {name}" for name, count in mode["missing"].items())
        lines.append(f"The mix lacks {missing}: the passages carry no more of them, or this model does not write them.")
    if _asked_freely(store):
        lines.append("What share of such questions is good was not measured for this model; read them.")
    return lines


def _alternatives(store: RunStore) -> list[str]:
    """Return the line on how often another chunk answers a question as well."""
    counts = store.results.alternative_counts()
    if not counts["samples"]:
        return []
    better = f", and {counts['rank_changed']} of them found it sooner" if counts["rank_changed"] else ""
    verb = "is" if counts["samples"] == 1 else "are"
    return [f"{counts['samples']} of the questions {verb} answered by another chunk just as well{better}."]


def _refused(store: RunStore) -> str:
    reasons = store.results.reasons()
    if not reasons:
        return "Refused no question."
    total, by_step = _by_step(reasons)
    return f"Refused {counted(total, 'question')}, by step: {by_step}."


def _passed_over(store: RunStore) -> list[str]:
    """Return the line on chunks with nothing to ask about."""
    reasons = store.results.reasons(of_passages=True)
    if not reasons:
        return []
    total, by_step = _by_step(reasons)
    return [f"Nothing to ask in {counted(total, 'passage')}: {by_step}."]


def _by_step(reasons: Mapping[str, Counter[str]]) -> tuple[int, str]:
    """Return the number of rejects, and the steps with their main reasons, the most frequent first."""
    steps = []
    for step, found in sorted(reasons.items(), key=lambda item: -item[1].total()):
        main = ", ".join(f"{count} {reason}" for reason, count in found.most_common(_REASONS))
        steps.append(f"{step} {found.total()} ({main})")
    return sum(found.total() for found in reasons.values()), "; ".join(steps)


def _cost(store: RunStore) -> list[str]:
    """Return the lines on the cost of the run, and of a second language model that judged."""
    _, seconds = store.spent()
    lines = [f"Took {duration(seconds)}, {_calls(store.calls.totals())}."]
    if judging := (store.meta("models") or {}).get("critic_lm"):
        lines.append(f"{judging['name']} judged: {_calls(store.critic_calls.totals())}.")
    return lines


def _calls(calls: CallTotals) -> str:
    return (
        f"{calls.calls:,} language model calls, {calls.prompt_tokens:,} tokens read "
        f"({calls.evaluated_tokens:,} of them anew), {calls.completion_tokens:,} written"
    )
