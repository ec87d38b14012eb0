"""What was left after each step."""

from collections import Counter

from groundset.report import charts
from groundset.report.analysis import ReportSection, RunAnalysis
from groundset.report.page import Chart, PageSection, PageTable, interval, percent, share_metric

_HEADINGS = ("step", "reached", "refused", "passed", "95 % interval")


def section(run: RunAnalysis) -> PageSection:
    """Show how chunks became contexts, and how candidates became samples."""
    title = "What was left after each step"
    about = "From chunks to passages that were asked about, and from candidate questions to samples."
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
            "A question that a step refused and that was then reworded is another candidate, so one attempt may make "
            "several. Shares of a step are of the candidates that reached it."
        ],
    )


def _chunks(run: RunAnalysis) -> Chart:
    stages = [("chunks", len(run.chunks))]
    if run.knows_usable:
        stages.append(("something to ask", len(run.chunks) - len(run.passed_over)))
    if run.attempts:
        stages.append(("attempted", len(run.attempted_chunks | run.asked_chunks)))
    stages.append(("asked about", len(run.asked_chunks)))
    return _bars(
        "passages",
        "Chunks",
        "How many chunks there are, how many hold something to ask, and how many samples ask about.",
        stages,
        PageTable(
            "",
            ("chunks", "count", "of all"),
            [(name, f"{count:,}", percent(count / (len(run.chunks) or 1))) for name, count in stages],
        ),
    )


def _candidates(run: RunAnalysis, candidates: int) -> Chart:
    """Show for each step that refused how many candidates reached it and how many it refused."""
    refused = Counter(reject.step for reject in run.refused)
    order = [*(step for step in run.steps if step in refused), *(step for step in refused if step not in run.steps)]
    left, rows, stages = candidates, [], [("candidates", candidates)]
    for step in order:
        reached, left = left, left - refused[step]
        rows.append((step, f"{reached:,}", f"{refused[step]:,}", percent(left / reached), interval(left, reached)))
        stages.append((f"after {step}", left))
    about = f"How many of {candidates:,} candidates each step left; the last {len(run.samples):,} are the samples."
    return _bars("steps", "Candidates", about, stages, PageTable("", _HEADINGS, rows))


def _bars(key: str, title: str, about: str, stages: list[tuple[str, int]], table: PageTable) -> Chart:
    names, counts = [name for name, _ in stages], [count for _, count in stages]
    svg = charts.bars(key, names, counts, [f"{count:,}" for count in counts], marked=len(stages) - 1)
    return Chart(title, about, svg, table)


SECTION = ReportSection("yield", section, rank=3)
