"""A comparison of runs as a page."""

from groundset.report import pictures
from groundset.report.blocks import Grid, PageSection, Picture
from groundset.report.comparison import RunComparison
from groundset.report.page import render
from groundset.stats import p_text

DIFFERENCES = ("measure", "run", "difference", "p", "seen from")


def comparison_page(comparison: RunComparison) -> str:
    """Return a comparison as HTML."""
    first = comparison.names[0]
    figures = PageSection(
        "figures",
        "The figures",
        "Shares with their 95 % interval (Wilson); of other values the median, and between which half of them lie.",
        tables=[Grid("", ("measure", *comparison.names), comparison.figures(), texts=True)],
    )
    differences = PageSection(
        "differences",
        "What differs",
        f"Each run is compared with {first}. 'Seen from' is the smallest difference that would have been seen four "
        "times in five. A pair is a question of each of the two runs; 50 of 100 is no difference.",
        pictures=[
            picture
            for kind, title, across in (
                ("share", "Shares", "difference in points of a hundred"),
                ("values", "Other values", "pairs of 100 in which it is higher, less 50"),
            )
            if (picture := _picture(comparison, kind, title, across))
        ],
        tables=[Grid("", DIFFERENCES, difference_rows(comparison), texts=True)],
        notes=[*comparison.conclusions(), *comparison.notes],
    )
    return render(
        f"Comparison of {' and '.join(comparison.names)}", comparison.conclusions()[0], [figures, differences]
    )


def difference_rows(comparison: RunComparison) -> list[tuple[str, ...]]:
    """Return the table of differences; a real one is marked."""
    return [
        (
            change.measure.name,
            comparison.names[change.run],
            f"{change.told()}{', real' if change.is_real else ''}",
            p_text(change.p),
            change.seen_from(),
        )
        for change in comparison.changes
    ]


def _picture(comparison: RunComparison, kind: str, title: str, across: str) -> Picture | None:
    shown = [change for change in comparison.changes if change.measure.kind == kind]
    if not shown:
        return None
    several = len(comparison.names) > 2
    labels = [f"{change.measure.name}{f', {comparison.names[change.run]}' if several else ''}" for change in shown]
    found = [tuple(100 * part for part in (change.found.gain, change.found.low, change.found.high)) for change in shown]
    rows = [(label, change.told(), p_text(change.p)) for label, change in zip(labels, shown, strict=True)]
    return Picture(
        title,
        "A point for each difference with its 95 % interval; one that crosses the line of zero may be none.",
        pictures.intervals(f"differences-{kind}", labels, [(a, b, c) for a, b, c in found], across),
        Grid("", ("measure", "difference", "p"), rows),
    )
