"""How large a difference between two retrievers the questions can show."""

import numpy as np

from groundset.progress import counted
from groundset.report import charts
from groundset.report.analysis import ReportSection, RunAnalysis
from groundset.report.page import UNKNOWN, Chart, Metric, PageSection, PageTable, percent
from groundset.stats import detectable_difference, questions_needed

_DISAGREEMENTS = (0.05, 0.1, 0.2, 0.4)
_USUAL = 0.2  # of these the one that is shown first
_SIZES = (50, 100, 300, 1000, 3000)
_AIM = 0.05
_FROM, _TO = 20, 5000  # questions that the chart shows, more where the set has more
_POINTS = 16
_NONE = "none"


def section(run: RunAnalysis) -> PageSection:
    """Show the minimum detectable difference in hit rate of these questions, for several shares of disagreement."""
    questions = len(run.samples)
    sizes = sorted({*_SIZES, *([questions] if questions else [])})
    rows = [
        (percent(share), *(_points(detectable_difference(size, share)) for size in sizes), _needed(share))
        for share in _DISAGREEMENTS
    ]
    headings = [f"n = {size:,}{' (this set)' if size == questions else ''}" for size in sizes]
    table = PageTable(
        "Smallest difference in hit rate that is seen, in points of a hundred",
        ("they disagree on", *headings, f"n for {100 * _AIM:.0f} points"),
        rows,
    )
    return PageSection(
        "power",
        "What it can tell",
        "How large a difference in hit rate between two retrievers, or two settings of one, these questions show.",
        [_detectable(questions)],
        [_curves(questions, table)],
        [table],
        [
            "Both retrievers answer the same questions, and a question counts where exactly one of them finds its "
            "passage. Nobody knows beforehand on what share of the questions they disagree; hence there are several.",
            "McNemar's exact test, two-sided at 5 %, shows the difference four times in five (power 80 %). "
            f"'{_NONE}' means that the test would show it less often even if one of them won every disagreement.",
            "Questions count as independent. Those about one document are hard or easy together, so with few documents "
            "it takes a larger difference than stated here; so it does where several retrievers are compared at once.",
        ],
    )


def _detectable(questions: int) -> Metric:
    found = detectable_difference(questions, _USUAL)
    shown = "none can be seen" if found is None else f"{_points(found)} points of a hundred"
    meaning = f"where two retrievers disagree on {100 * _USUAL:.0f} of 100 questions; at 80 % power, alpha 0.05"
    n = counted(questions, "question")
    return Metric("Smallest difference seen", shown if questions else UNKNOWN, n, "", meaning)


def _points(difference: float | None) -> str:
    return _NONE if difference is None else f"{100 * difference:.1f}"


def _needed(disagreement: float) -> str:
    questions = questions_needed(_AIM, disagreement)
    return "never that large" if questions is None else f"{questions:,}"


def _curves(questions: int, table: PageTable) -> Chart:
    drawn = []
    sizes = np.unique(np.geomspace(_FROM, max(_TO, questions), _POINTS).astype(int))
    for share in _DISAGREEMENTS:
        found = [(size, detectable_difference(int(size), share)) for size in sizes]
        known = [(size, gain) for size, gain in found if gain is not None]
        drawn.append((percent(share), [size for size, _ in known], [gain for _, gain in known]))
    marked = (questions, "this set") if questions else None
    return Chart(
        "Smallest difference by the number of questions",
        "A line for each share of questions on which two retrievers disagree: the more they disagree, the larger a "
        "difference has to be; four times as many questions show one of about half the size.",
        charts.lines("power", drawn, "questions", "difference in hit rate", marked),
        table,
    )


SECTION = ReportSection("power", section, rank=9)
