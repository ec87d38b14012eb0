"""Comparison of runs with the first of them: figures and significant differences, as JSON and as a page."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from groundset.progress import counted
from groundset.report import charts
from groundset.report.analysis import RunAnalysis
from groundset.report.comparison_measures import MEASURES, Measure, drawn
from groundset.report.measurements import distinct
from groundset.report.page import UNKNOWN, Chart, PageSection, PageTable, bounds, interval, percent, render
from groundset.stats import ALPHA, Contrast, Values, contrast_shares, contrast_values, holm, p_text, wilson
from groundset.store.folder import check_distinct
from groundset.store.quality import estimate_quality
from programs.errors import InputError

_TESTS = (
    "Shares are compared by Fisher's exact test, other values by the Mann-Whitney test; p is corrected for all {} "
    "tests by Holm's procedure; significant means p below 0.05 and an interval that excludes no difference. The tests "
    "assume independent questions, so with few documents p is too small."
)
DIFFERENCES = ("measure", "run", "difference", "p", "minimum detectable")


class RunDifference(NamedTuple):
    """The difference between the run at index ``run`` and the first in one measure.

    ``p`` is corrected for all tests of the comparison; ``detectable`` is the minimum detectable effect.
    """

    measure: Measure
    run: int
    contrast: Contrast
    p: float
    is_significant: bool
    detectable: float

    @property
    def gain_text(self) -> str:
        """Return the gain with its interval: percentage points of a share, else pairs out of 100."""
        gain, low, high = (100 * part for part in (self.contrast.gain, self.contrast.low, self.contrast.high))
        if self.measure.kind == "share":
            return f"{gain:+.0f} points ({low:+.0f} to {high:+.0f})"
        return f"higher in {50 + gain:.0f} of 100 pairs ({50 + low:.0f} to {50 + high:.0f})"

    @property
    def detectable_text(self) -> str:
        """Return the minimum detectable effect in the same unit."""
        points = 100 * self.detectable
        if self.measure.kind == "share":
            return f"{points:.0f} points" if points < 100 else "none"
        return f"{50 + points:.0f} of 100" if points < 50 else "none"


@dataclass(frozen=True, eq=False)
class RunComparison:
    """Runs compared with the first of them.

    Attributes:
        names: unique names of the runs.
        values: values of each run for each measure, None if the run lacks them.
        differences: tested differences.
        notes: remarks on how to read the comparison.
    """

    names: Sequence[str]
    runs: Sequence[RunAnalysis]
    values: Sequence[Sequence[Values | None]]
    differences: Sequence[RunDifference]
    notes: Sequence[str]

    def figures(self) -> list[tuple[str, ...]]:
        """Return the rows of the table of figures: a name and the value of each run."""
        size = min(len(run.samples) for run in self.runs)
        rows = [("samples", *map(_samples, self.runs)), ("expected good", *map(_expected, self.runs))]
        for measure, values in zip(MEASURES, self.values, strict=True):
            rows.append((measure.name, *(_figure(measure, of_run) for of_run in values)))
        if size > 1:
            rows.append((f"distinct word pairs, of {size:,} questions", *(_distinct(run, size) for run in self.runs)))
        rows.append(("calls per sample", *(_per_sample(run, run.calls.calls) for run in self.runs)))
        tokens = (_per_sample(run, run.calls.completion_tokens) for run in self.runs)
        rows.append(("completion tokens per sample", *tokens))
        rows.append(("seconds per sample", *(_per_sample(run, run.seconds) for run in self.runs)))
        return rows

    def difference_rows(self) -> list[tuple[str, ...]]:
        """Return the rows of the table of differences, with the significant ones marked."""
        return [
            (
                tested.measure.name,
                self.names[tested.run],
                f"{tested.gain_text}{', significant' if tested.is_significant else ''}",
                p_text(tested.p),
                tested.detectable_text,
            )
            for tested in self.differences
        ]

    def conclusions(self) -> list[str]:
        """Return one sentence for each significant difference, and one for all others."""
        lines = [
            f"{self.names[tested.run]} differs from {self.names[0]} in {tested.measure.name}: {tested.gain_text}, "
            f"{p_text(tested.p)}."
            for tested in self.differences
            if tested.is_significant
        ]
        if others := len(self.differences) - len(lines):
            lines.append(f"Not significant: {counted(others, 'other difference' if lines else 'difference')}.")
        return lines or ["Nothing was tested: each run needs at least two samples."]

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as JSON types; intervals are lists of two bounds."""
        return {
            "runs": [
                {
                    "name": name, "samples": len(run.samples), "asked": run.requested,
                    "documents": len(run.documents), "chunks": len(run.chunks),
                }
                for name, run in zip(self.names, self.runs, strict=True)
            ],
            "measures": [
                {"name": measure.name, "kind": measure.kind, "runs": [_summary(measure, of_run) for of_run in values]}
                for measure, values in zip(MEASURES, self.values, strict=True)
            ],
            "differences": [
                {
                    "measure": tested.measure.name, "kind": tested.measure.kind, "run": self.names[tested.run],
                    "from": self.names[0], "gain": round(tested.contrast.gain, 4),
                    "interval": [round(tested.contrast.low, 4), round(tested.contrast.high, 4)],
                    "p": round(tested.p, 6), "is_real": tested.is_significant,
                    "detectable": round(tested.detectable, 4),
                }
                for tested in self.differences
            ],
            "conclusions": self.conclusions(),
            "notes": list(self.notes),
        }  # fmt: skip

    def page(self) -> str:
        """Return the comparison as HTML."""
        figures = PageSection(
            "figures",
            "Figures",
            "Shares with 95 % intervals (Wilson); medians with quartiles of other values.",
            tables=[PageTable("", ("measure", *self.names), self.figures(), texts=True)],
        )
        shares = self._chart("share", "Shares", "difference in percentage points")
        others = self._chart("values", "Other values", "pairs of 100 in which it is higher, minus 50")
        differences = PageSection(
            "differences",
            "Differences",
            f"Each run is compared with {self.names[0]}. The minimum detectable difference has 80 % power. A pair is "
            "one question of each run; 50 of 100 is no difference.",
            charts=[chart for chart in (shares, others) if chart],
            tables=[PageTable("", DIFFERENCES, self.difference_rows(), texts=True)],
            notes=[*self.conclusions(), *self.notes],
        )
        title = f"Comparison of {' and '.join(self.names)}"
        return render(title, self.conclusions()[0], [figures, differences])

    def _chart(self, kind: str, title: str, across: str) -> Chart | None:
        shown = [tested for tested in self.differences if tested.measure.kind == kind]
        if not shown:
            return None
        several = len(self.names) > 2
        labels = [f"{tested.measure.name}{f', {self.names[tested.run]}' if several else ''}" for tested in shown]
        contrasts = [tested.contrast for tested in shown]
        gains = [(100 * found.gain, 100 * found.low, 100 * found.high) for found in contrasts]
        rows = [(label, tested.gain_text, p_text(tested.p)) for label, tested in zip(labels, shown, strict=True)]
        return Chart(
            title,
            "Differences with their 95 % intervals; an interval that includes zero is not significant.",
            charts.intervals(f"differences-{kind}", labels, gains, across),
            PageTable("", ("measure", "difference", "p"), rows),
        )


def compare_runs(folders: Sequence[Path]) -> RunComparison:
    """Compare runs with the first of them.

    Raises:
        InputError: fewer than two folders are given, one is given twice, or one holds no run.
        DamagedRunError: a run cannot be read.
    """
    if len(folders) < 2:
        raise InputError("RUN: compare needs two or more runs")
    check_distinct(folders)
    runs = [RunAnalysis(folder) for folder in folders]
    names = _names(runs)
    size = min(len(run.samples) for run in runs)
    values = [[measure.values(run, size) for run in runs] for measure in MEASURES]
    tested, untested = [], []
    for measure, (before, *others) in zip(MEASURES, values, strict=True):
        for index, after in enumerate(others, 1):
            if before is None or after is None:
                continue
            key = measure.comparison_key
            if key and (key(runs[0]) or {}) != key(runs[index]):
                untested.append(f"{measure.name} of {names[index]} is not tested: {measure.mismatch_reason}.")
                continue
            contrast = contrast_shares if measure.kind == "share" else contrast_values
            if found := contrast(before, after):
                tested.append((measure, index, found))
    differences = [
        RunDifference(measure, index, found, p, p < ALPHA and not found.low <= 0 <= found.high,
                      found.detectable(len(tested)))
        for (measure, index, found), p in zip(tested, holm([found.p for *_, found in tested]), strict=True)
    ]  # fmt: skip
    notes = [
        *_corpora(names, runs),
        *_unanswerable(names, runs),
        *([_TESTS.format(len(tested))] if tested else []),
        *untested,
    ]
    return RunComparison(names, runs, values, differences, notes)


def _names(runs: Sequence[RunAnalysis]) -> list[str]:
    """Return the folder names, numbered where they repeat."""
    names: list[str] = []
    for run in runs:
        tries = (run.name if number == 1 else f"{run.name} ({number})" for number in count(1))
        names.append(next(name for name in tries if name not in names))
    return names


def _corpora(names: Sequence[str], runs: Sequence[RunAnalysis]) -> list[str]:
    """Return notes on the documents and questions that each run shares with the first."""
    lines = []
    first, texts = runs[0], runs[0].document_texts
    questions = {sample.id for sample in first.samples}
    for name, run in zip(names[1:], runs[1:], strict=True):
        same = len(texts & run.document_texts)
        if run.document_texts == texts:
            how = "the same" if run.chunk_texts == first.chunk_texts else "different"
            lines.append(f"{name} has the same {counted(same, 'document')} as {names[0]}, with {how} chunks.")
        elif same:
            sizes = f"{len(run.document_texts):,} and {len(texts):,}"
            lines.append(f"{name} shares {counted(same, 'document')} with {names[0]}, of {sizes}.")
        else:
            lines.append(f"{name} shares no documents with {names[0]}; differences may be due to the documents.")
        if both := len(questions & {sample.id for sample in run.samples}):
            lines.append(
                f"{name} shares {counted(both, 'question')} with {names[0]}; the tests assume independent runs, so "
                "they lose power."
            )
    return lines


def _unanswerable(names: Sequence[str], runs: Sequence[RunAnalysis]) -> list[str]:
    """Return a note on the unanswerable questions of each run that has some."""
    counts = [(name, len(run.samples) - len(run.answerable)) for name, run in zip(names, runs, strict=True)]
    return [
        f"Measures of retrieval of {name} leave out {counted(number, 'unanswerable question')}."
        for name, number in counts
        if number
    ]


def _samples(run: RunAnalysis) -> str:
    return f"{len(run.samples):,}" if run.requested is None else f"{len(run.samples):,} of {run.requested:,}"


def _expected(run: RunAnalysis) -> str:
    found = estimate_quality(run.settings["compiled"], run.samples)
    return f"{percent(found.share)} ({bounds(found.low, found.high)})" if found else UNKNOWN


def _figure(measure: Measure, values: Values | None) -> str:
    if values is None or not len(values):
        return UNKNOWN
    if measure.kind == "share":
        limits = interval(int(values.sum()), len(values))
        return f"{percent(float(values.mean()))} ({limits}, n={len(values):,})"
    low, middle, high = (f"{part:.{measure.digits}f}" for part in np.quantile(values, (0.25, 0.5, 0.75)))
    return f"{middle} ({low} to {high}, n={len(values):,})"


def _summary(measure: Measure, values: Values | None) -> dict[str, Any] | None:
    """Return a measure of a run as JSON types."""
    if values is None or not len(values):
        return None
    if measure.kind == "share" and (found := wilson(int(values.sum()), len(values))):
        share, low, high = (round(part, 4) for part in found)
        return {"n": len(values), "share": share, "interval": [low, high]}
    low, middle, high = np.quantile(values, (0.25, 0.5, 0.75)).round(4).tolist()
    return {"n": len(values), "median": middle, "quartiles": [low, high]}


def _distinct(run: RunAnalysis, size: int) -> str:
    found, total = distinct([run.samples[index].question for index in drawn(len(run.samples), size)], 2)
    return percent(found / total) if total else UNKNOWN


def _per_sample(run: RunAnalysis, total: float) -> str:
    return f"{total / len(run.samples):,.1f}" if run.samples and total and not run.derived else UNKNOWN
