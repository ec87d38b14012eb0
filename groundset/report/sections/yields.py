"""Report section: yield of each step."""

from collections import Counter

from groundset.report import charts
from groundset.report.analysis import ReportSection, RunAnalysis
from groundset.report.page import Chart, PageSection, PageTable, interval, percent, share_metric

_HEADINGS = ("step", "reached", "refused", "passed", "95 % interval")


def section(run: RunAnalysis) -> PageSection:
    """Show how many chunks and candidates passed each step."""
    title, about = "Yield", "From chunks to sampled chunks, and from candidate questions to samples."
    if run.derived or not (run.attempts or run.rejects):
        return PageSection("yield", title, about, notes=["This run has no steps of its own."])
    kept = len(run.samples)
    candidates = kept + len(run.refused)
    return PageSection(
        "yield",
        title,
        about,
        [
            share_metric("Kept of candidates", kept, candidates, "candidate"),
            share_metric("Kept of attempts", kept, run.attempts, "attempt"),
        ],
        [_chunks(run), *([_candidates(run, candidates)] if candidates else [])],
        notes=[
            "A refused question that was reworded is another candidate, so one attempt may make several. "
            "Shares of a step are of the candidates that reached it."
        ],
    )


def _chunks(run: RunAnalysis) -> Chart:
    stages = [("chunks", len(run.chunks))]
    if run.knows_usable:
        stages.append(("usable", len(run.chunks) - len(run.skipped_chunks)))
    if run.attempts:
        stages.append(("attempted", len(run.attempted_chunks | run.sampled_chunks)))
    stages.append(("sampled", len(run.sampled_chunks)))
    return _bars(
        "passages",
        "Chunks",
        "All chunks, usable chunks (not skipped), and chunks of attempts and samples.",
        stages,
        PageTable(
            "",
            ("chunks", "count", "of all"),
            [(name, f"{count:,}", percent(count / (len(run.chunks) or 1))) for name, count in stages],
        ),
    )


def _candidates(run: RunAnalysis, candidates: int) -> Chart:
    """Show the candidates that reached each step and those it refused."""
    refused = Counter(reject.step for reject in run.refused)
    order = [*(step for step in run.steps if step in refused), *(step for step in refused if step not in run.steps)]
    left, rows, stages = candidates, [], [("candidates", candidates)]
    for step in order:
        reached, left = left, left - refused[step]
        rows.append((step, f"{reached:,}", f"{refused[step]:,}", percent(left / reached), interval(left, reached)))
        stages.append((f"after {step}", left))
    about = f"Candidates left of {candidates:,} after each step; the last {len(run.samples):,} are the samples."
    return _bars("steps", "Candidates", about, stages, PageTable("", _HEADINGS, rows))


def _bars(key: str, title: str, about: str, stages: list[tuple[str, int]], table: PageTable) -> Chart:
    names, counts = [name for name, _ in stages], [count for _, count in stages]
    svg = charts.bars(key, names, counts, [f"{count:,}" for count in counts], marked=len(stages) - 1)
    return Chart(title, about, svg, table)


SECTION = ReportSection("yield", section, rank=3)
