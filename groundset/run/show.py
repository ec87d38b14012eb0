"""What is told of a run: the lines that it ends with, and `groundset show`."""

import json
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from textwrap import indent
from typing import Any, NamedTuple

from groundset.files import json_text
from groundset.options import AS_JSON, RUN, Options, option
from groundset.printing import counted, duration, grouped, say, say_lines
from groundset.programs.errors import InputError
from groundset.programs.forms import UNSURE
from groundset.programs.stats import sight
from groundset.programs.types import Chunk, Reject, Sample, StepRecord
from groundset.retrieval.index import settled
from groundset.run.folder import RECORD, REJECTS, SAMPLES
from groundset.run.record import frequencies, listed, sample_row, verdicts_of
from groundset.run.run import Run, open_run

_MOST_PAIRS = 5  # of documents
_REASONS = 3  # of each step


def signed(run: Run) -> dict[str, bool]:
    """Return whether all who reviewed a sample signed it, by the id of each reviewed sample."""
    ids = {sample.id for sample in run.samples}
    return {
        name: given == {"signed"} for name, given in verdicts_of(run.reviews).items() if name in ids
    }


def summary(run: Run) -> Iterator[str]:
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


def _sight(run: Run) -> Iterator[str]:
    """Yield a line on what the questions can tell apart."""
    samples = [sample for sample in run.samples if sample.retrieval_gt]
    if samples:
        groups = [len(sample.retrieval_gt) for sample in samples]
        first, never = settled([[sample.retrieval.rank for sample in samples]], groups)
        yield f"Its own search finds {first} first and {never} not at all; {sight(len(samples))}."
    if selected := run.record.get("selected"):
        yield selected


def account(run: Run) -> Iterator[str]:
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
    if unsaid := sum(bool(sample.readings) for sample in run.samples):
        yield (
            f"{counted(unsaid, 'question')} that the documents seem not to answer:"
            " `groundset review` shows what was read."
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
            f" ({counted(pair['questions'], 'question')}): `groundset show` has their answers."
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


def contradictions(run: Run) -> list[dict[str, Any]]:
    """Return the pairs of documents, by their paths, that answer a question differently, and how
    many questions; those with most come first.
    """
    pairs: Counter[tuple[str, ...]] = Counter()
    for sample in run.samples:
        found = {tuple(sorted(paths)) for *paths, _ in _contradicting(run, sample)}
        pairs.update(paths for paths in found if paths[0] != paths[1])
    return [
        {"first": paths[0], "second": paths[1], "questions": count}
        for paths, count in pairs.most_common()
    ]


def _contradicting(run: Run, sample: Sample) -> Iterator[tuple[str, str, str]]:
    """Yield the path of a passage of a sample, that of one that answers differently, and how."""
    for each in sample.variants:
        # Imported sets may mean something else by this name.
        if other := run.chunks.get(each.get("chunk_id", "")):
            yield sample.contexts[each.get("place", 0)].path, other.path, each.get("answer", "")


def shortage(quotas: Mapping[str, int], made: Mapping[str, int]) -> str:
    """Return why a run ended with fewer samples than were asked for."""
    missing = Counter(quotas) - Counter(made)
    mend = "add documents, take a larger --lm, or lower --size"
    return f"nothing is left to ask in these chunks, missing{_counts(missing)}; {mend}"


def _counts(counts: Mapping[str, Any]) -> str:
    return f" ({listed(counts)})" if counts else ""


def _by_step(rejects: Sequence[Reject]) -> str:
    """Return the steps with their main reasons, the most frequent first."""
    parts = []
    for step, count in frequencies(reject.step for reject in rejects).items():
        reasons = Counter(
            reject.reason.split(":")[0][:100] for reject in rejects if reject.step == step
        )
        parts.append(f"{step} {count} ({listed(dict(reasons.most_common(_REASONS)))})")
    return "; ".join(parts)


class ShowOptions(Options):
    """Show the samples of a run with their passages, or what was refused and why."""

    run: Path = RUN
    rejects: bool = option(False, "Show what was refused.")
    id: str | None = option(None, "Show the samples whose id begins with this.", metavar="ID")
    limit: int | None = option(None, "Show at most this many.", metavar="N", ge=1)
    trail: bool = option(False, "Also show what each step said.")
    as_json: bool = AS_JSON


def show(options: ShowOptions) -> None:
    """Print samples or rejects.

    Raises:
        InputError: an option is wrong, or the folder holds no run.
    """
    kind = "rejects" if options.rejects else "samples"
    if options.id and options.rejects:
        raise InputError("--id: not together with --rejects")
    run = open_run(options.run)
    found = _rejects(run) if options.rejects else _samples(run, options)
    entries = islice(found, options.limit)
    if options.as_json:
        rows = [entry.row for entry in entries]
        say_lines(json_text({"run": str(run.folder), kind: rows}, indent=2))
        return
    for title, alike in grouped((each.title, each) for each in entries).items():
        _print(title, alike, trail=options.trail)
    for line in () if options.id else account(run):
        say(line)


class _Entry(NamedTuple):
    """A sample or a reject, as it is shown."""

    row: Mapping[str, Any]
    title: str
    score: str
    text: str
    chunks: Sequence[Chunk]
    trail: Sequence[StepRecord]


def _samples(run: Run, options: ShowOptions) -> Iterator[_Entry]:
    samples = [sample for sample in run.samples if sample.id.startswith(options.id or "")]
    if options.id and not samples:
        raise InputError(
            f"--id {options.id}: no sample of {options.run} has an id that begins with this"
        )
    for sample in samples:
        rank = sample.retrieval.rank
        search = f"rank {rank}" if rank else "not found again"
        if not sample.retrieval_gt:
            search = "no chunk answers it"
        score = "" if sample.probability is None else f", {sample.probability:.2f}"
        title = f"{sample.id}  {sample.evolution}, {search}"
        others = [f"{path} says: {answer}" for _, path, answer in _contradicting(run, sample)]
        text = "\n".join([sample.question, sample.answer, *others])
        yield _Entry(sample_row(sample), title, score, text, sample.contexts, sample.trail)


def _rejects(run: Run) -> Iterator[_Entry]:
    for result in (attempt.result for attempt in run.attempts):
        sample = result.sample
        for reject in result.rejects:
            step, chance = reject.step, reject.probability
            chunks = [run.chunks[name] for name in run.chunks.keys() & {reject.chunk_id}]
            passage = "".join(chunk.passage for chunk in chunks)
            least = run.record["thresholds"].get(step)
            limit = f" of at least {least:.2f}" if least is not None else ""
            score = f" ({chance:.2f}{limit})" if chance is not None else ""
            yield _Entry(
                {**reject.model_dump(mode="json"), "passage": passage},
                f"{step}  {reject.reason}",
                score,
                reject.question or "",
                sample.contexts if sample and step == UNSURE else chunks,
                result.steps,
            )


def _print(title: str, entries: Sequence[_Entry], *, trail: bool) -> None:
    """Print what has the same title below it."""
    more = f" ({len(entries)} times)" if len(entries) > 1 else entries[0].score
    say(f"{title}{more}")
    for entry in entries:
        if entry.text:
            say_lines(entry.text)
        for chunk in entry.chunks:
            say(f"  {chunk.topic} ({chunk.path})")
            say_lines(indent(chunk.passage, "    "))
        for record in entry.trail if trail else ():
            say(f"{record.step} {json.dumps(record.output, ensure_ascii=False)}")
    say()
