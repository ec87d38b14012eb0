"""Report section: statistical power for comparing two retrievers on the questions."""

import numpy as np

from groundset.progress import counted
from groundset.report import charts
from groundset.report.analysis import ReportSection, RunAnalysis
from groundset.report.page import UNKNOWN, Chart, Metric, PageSection, PageTable, percent
from groundset.stats import detectable_difference, questions_needed

_DISAGREEMENTS = (0.05, 0.1, 0.2, 0.4)
_TYPICAL = 0.2  # of these, for the metric
_SIZES = (50, 100, 300, 1000, 3000)
_AIM = 0.05
_FROM, _TO = 20, 5000  # questions on the x axis, which extends to the size of the set
_POINTS = 16
_NONE = "none"


def section(run: RunAnalysis) -> PageSection:
    """Show the minimum detectable difference in hit rate for several shares of disagreement."""
    questions = len(run.samples)
    sizes = sorted({*_SIZES, *([questions] if questions else [])})
    rows = [
        (percent(share), *(_points(detectable_difference(size, share)) for size in sizes), _needed(share))
        for share in _DISAGREEMENTS
    ]
    headings = [f"n = {size:,}{' (this set)' if size == questions else ''}" for size in sizes]
    table = PageTable(
        "Minimum detectable difference in hit rate, in percentage points",
        ("disagreement", *headings, f"n for {100 * _AIM:.0f} points"),
        rows,
    )
    return PageSection(
        "power",
        "Statistical power",
        "The difference in hit rate between two retrievers that these questions can detect.",
        [_detectable(questions)],
        [_curves(questions, table)],
        [table],
        [
            "Both retrievers search the same questions, and only questions where exactly one of them finds the passage "
            "count. The share of such questions (disagreement) is unknown in advance, so several are shown.",
            "McNemar's exact test, two-sided at 5 %, detects the difference with 80 % power. "
            f"'{_NONE}': the power is below 80 % even if one retriever wins every disagreement.",
            "The test assumes independent questions. Questions about one document are similarly hard, so with few "
            "documents the detectable difference is larger, as it is when several retrievers are compared.",
        ],
    )


def _detectable(questions: int) -> Metric:
    found = detectable_difference(questions, _TYPICAL)
    value = _NONE if found is None else f"{_points(found)} percentage points"
    meaning = f"if two retrievers disagree on {percent(_TYPICAL)} of the questions; 80 % power, alpha 0.05"
    n = counted(questions, "question")
    return Metric("Minimum detectable difference", value if questions else UNKNOWN, n, "", meaning)


def _points(difference: float | None) -> str:
    return _NONE if difference is None else f"{100 * difference:.1f}"


def _needed(disagreement: float) -> str:
    questions = questions_needed(_AIM, disagreement)
    return "impossible" if questions is None else f"{questions:,}"


def _curves(questions: int, table: PageTable) -> Chart:
    drawn = []
    sizes = np.unique(np.geomspace(_FROM, max(_TO, questions), _POINTS).astype(int))
    for share in _DISAGREEMENTS:
        found = [(size, detectable_difference(int(size), share)) for size in sizes]
        known = [(size, gain) for size, gain in found if gain is not None]
        drawn.append((percent(share), [size for size, _ in known], [gain for _, gain in known]))
    marked = (questions, "this set") if questions else None
    return Chart(
        "Minimum detectable difference by number of questions",
        "One line per share of disagreement: more disagreement needs a larger difference; four times as many questions "
        "detect one of about half the size.",
        charts.lines("power", drawn, "questions", "difference in hit rate", marked),
        table,
    )


SECTION = ReportSection("power", section, rank=9)
