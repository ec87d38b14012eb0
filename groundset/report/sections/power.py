"""What the set can tell of two retrievers."""

import numpy as np

from groundset.progress import counted
from groundset.report import pictures
from groundset.report.blocks import Grid, PageSection, Picture, Stated
from groundset.report.facts import RunFacts
from groundset.report.pictures import Curve
from groundset.report.shares import UNKNOWN
from groundset.stats import detectable_difference, questions_needed

_DISAGREEMENTS = (0.05, 0.1, 0.2, 0.4)
_USUAL = 0.2  # of these the one that is told first
_SIZES = (50, 100, 300, 1000, 3000)
_AIM = 0.05
_FROM, _TO = 20, 5000  # questions that the picture shows, more where the set has more
_POINTS = 16
_NONE = "none"


def section(facts: RunFacts) -> PageSection:
    """Tell the smallest difference in hit rate that these questions show, for several shares of disagreement."""
    questions = len(facts.samples)
    sizes = sorted({*_SIZES, *([questions] if questions else [])})
    rows = [
        (
            f"{share:.0%}".replace("%", " %"),
            *(_told(detectable_difference(size, share)) for size in sizes),
            _needed(questions_needed(_AIM, share)),
        )
        for share in _DISAGREEMENTS
    ]
    headings = [f"n = {size:,}{' (this set)' if size == questions else ''}" for size in sizes]
    table = Grid(
        "Smallest difference in hit rate that is seen, in points of a hundred",
        ("they disagree on", *headings, f"n for {100 * _AIM:.0f} points"),
        rows,
    )
    return PageSection(
        "power",
        "What it can tell",
        "How large a difference in hit rate between two retrievers, or two settings of one, these questions show.",
        figures=[detectable(questions)],
        pictures=[_curves(questions, table)],
        tables=[table],
        notes=[
            "Both retrievers are asked the same questions, and a question counts where exactly one of them finds its "
            "passage. On what share of the questions they so disagree is not known beforehand; hence several are told.",
            "McNemar's exact test, two-sided at 5 %, tells the difference four times in five (power 80 %). "
            f"'{_NONE}' means that the test would see it less often even if one of them won every disagreement.",
            "Questions count as independent. Those about one document are hard or easy together, so with few documents "
            "it takes a larger difference than is told here; so it does where several retrievers are compared at once.",
        ],
    )


def detectable(questions: int) -> Stated:
    """Return the smallest difference that is seen if retrievers disagree on one question in five."""
    found = detectable_difference(questions, _USUAL)
    meaning = f"where two retrievers disagree on {100 * _USUAL:.0f} of 100 questions; at 80 % power, alpha 0.05"
    told = UNKNOWN if not questions else "none can be seen" if found is None else f"{_told(found)} points of a hundred"
    return Stated("Smallest difference seen", told, counted(questions, "question"), "", meaning)


def _told(difference: float | None) -> str:
    return _NONE if difference is None else f"{100 * difference:.1f}"


def _needed(questions: int | None) -> str:
    return "never that large" if questions is None else f"{questions:,}"


def _curves(questions: int, table: Grid) -> Picture:
    drawn = []
    sizes = np.unique(np.geomspace(_FROM, max(_TO, questions), _POINTS).astype(int))
    for share in _DISAGREEMENTS:
        found = [(size, detectable_difference(int(size), share)) for size in sizes]
        known = [(size, gain) for size, gain in found if gain is not None]
        drawn.append(Curve(f"{100 * share:.0f} %", [size for size, _ in known], [gain for _, gain in known]))
    marked = (questions, "this set") if questions else None
    return Picture(
        "Smallest difference by the number of questions",
        "A line for each share of questions on which two retrievers disagree: the more they disagree, the larger a "
        "difference has to be; four times as many questions show one of about half the size.",
        pictures.lines("power", drawn, "questions", "difference in hit rate", marked),
        table,
    )
