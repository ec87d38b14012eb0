"""What a run says at its end: what was kept and refused, what it cost, where it is, what comes next."""

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from groundset.progress import counted, duration
from groundset.run.folder import RECORD, REJECTS, SAMPLES
from groundset.run.run import Run
from programs.types import Reject

_REASONS = 3  # of each step


def summary(run: Run) -> list[str]:
    """Return the lines that end a run."""
    record, folder = run.record, shlex.quote(str(run.folder))
    lines = [*account(run), f"Files: {run.folder / SAMPLES}, {REJECTS}, {RECORD}."]
    if record["status"] in ("interrupted", "failed", "budget"):
        more = " with a larger budget" if record["status"] == "budget" else ""
        return [*lines, f"To go on: the same command{more}."]
    if not len(run):
        return [*lines, f"Next: groundset show {folder} --rejects"]
    return [*lines, f"Next: groundset review {folder}, or groundset export {folder} --format autorag --out DIR"]


def account(run: Run) -> list[str]:
    """Return the lines on what was kept, what was refused and what it cost."""
    record = run.record
    lines = [
        f"Kept {record['accepted']} of {counted(record['asked'], 'sample')}{_counts(record['evolutions'])} from "
        f"{counted(record['attempts'], 'attempt')} on {counted(record.get('chunks', 0), 'chunk')} of "
        f"{counted(record.get('documents', 0), 'document')}."
    ]
    if record["surplus"]:
        lines.append(f"{counted(record['surplus'], 'good question')} beyond that: used when --size grows.")
    if record["kinds"]:
        lines.append(f"Kinds of question: {', '.join(f'{kind} {count}' for kind, count in record['kinds'].items())}.")
    if record["reason"]:
        lines.append(f"{record['reason'][:1].upper()}{record['reason'][1:]}.")
    if record["alternatives"]:
        lines.append(f"{counted(record['alternatives'], 'question')} can also be answered from another chunk.")
    questions = [reject for reject in run.rejects if reject.question]
    for what, rejects in (("question", questions), ("passage", [each for each in run.rejects if not each.question])):
        if rejects:
            lines.append(f"Refused {counted(len(rejects), what)}: {_by_step(rejects)}.")
    if record["calls"]:
        lines.append(
            f"Took {duration(record['seconds'])}, {counted(record['calls'], 'call')} with {record['prompt_tokens']:,} "
            f"prompt tokens ({record['cached_tokens']:,} cached) and {record['generated_tokens']:,} generated ones."
        )
    if record["cost"]:
        each = record["cost"]["per_sample"]
        lines.append(f"Cost {record['cost']['total']:,.2f}{'' if each is None else f', {each:,.4f} a sample'}.")
    return lines


def shortage(quotas: Mapping[str, int], made: Mapping[str, int]) -> str:
    """Return why a run ended with fewer samples than were asked for."""
    missing = {name: share - made.get(name, 0) for name, share in quotas.items() if share > made.get(name, 0)}
    return f"nothing is left to ask in these chunks, missing{_counts(missing)}; add documents or lower --size"


def _counts(counts: Mapping[str, Any]) -> str:
    return f" ({', '.join(f'{name} {count}' for name, count in counts.items())})" if counts else ""


def _by_step(rejects: Sequence[Reject]) -> str:
    """Return the steps with their main reasons, the most frequent first."""
    parts = []
    for step, count in Counter(reject.step for reject in rejects).most_common():
        reasons = Counter(reject.reason.split(":")[0][:100] for reject in rejects if reject.step == step)
        main = ", ".join(f"{reason} {number}" for reason, number in reasons.most_common(_REASONS))
        parts.append(f"{step} {count} ({main})")
    return "; ".join(parts)
