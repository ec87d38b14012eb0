"""Report section: refused questions by reason, with examples."""

from collections import Counter, defaultdict

from groundset.progress import counted
from groundset.report.analysis import ReportSection, RunAnalysis, is_skipped_chunk
from groundset.report.measurements import cut
from groundset.report.page import PageSection, PageTable, interval, percent
from programs.types import Reject

_EXAMPLES = 3  # per reason
_REASONS = 12  # with examples
_LONGEST = 300


def section(run: RunAnalysis) -> PageSection:
    """Show the reasons of rejects, the most frequent first, with example questions."""
    skipped = [reject for reject in run.rejects if is_skipped_chunk(reject)]
    examples: dict[tuple[str, str], dict[str, Reject]] = defaultdict(dict)
    for reject in run.refused:
        held = examples[_reason(reject)]
        if reject.question and len(held) < _EXAMPLES:
            held.setdefault(reject.question, reject)
    tables = []
    if run.refused:
        counts = Counter(map(_reason, run.refused))
        rows = [
            (f"{step}: {reason}", cut(question, _LONGEST), cut(reject.reason, _LONGEST), reject.chunk_id)
            for (step, reason), _ in counts.most_common(_REASONS)
            for question, reject in examples[step, reason].items()
        ]
        tables.append(_counts("Refused questions", counts, "of all refused"))
        tables.append(PageTable("Examples", ("refused by", "question", "reason", "chunk"), rows, texts=True))
    if skipped:
        tables.append(_counts("Skipped chunks", Counter(map(_reason, skipped)), "of all skipped"))
    about = f"{counted(len(run.refused), 'question')} refused"
    if skipped:
        about += f"; {counted(len(skipped), 'chunk')} skipped, which is normal"
    return PageSection("refused", "Rejects", f"{about}.", tables=tables)


def _reason(reject: Reject) -> tuple[str, str]:
    return reject.step, cut(reject.reason.split(":")[0], _LONGEST)  # after a colon come details of one candidate


def _counts(title: str, counts: Counter[tuple[str, str]], share: str) -> PageTable:
    total = counts.total()
    rows = [
        (f"{step}: {reason}", f"{count:,}", percent(count / total), interval(count, total))
        for (step, reason), count in counts.most_common()
    ]
    return PageTable(f"{title} (n = {total:,})", ("reason", "count", share, "95 % interval"), rows)


SECTION = ReportSection("refused", section, rank=4)
