"""Runs side by side: their figures, and which differences from the first of them are real; as JSON and as a page."""

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
from groundset.store.quality import estimate_quality
from programs.errors import InputError

_TESTS = (
    "Shares are tested by Fisher's exact test, other values by Mann's and Whitney's; the p of all {} tests "
    "together are corrected by Holm's procedure, and real means below 0.05 with an interval that leaves out no "
    "difference. Questions count as independent, so with few documents a difference is less sure than it says."
)
DIFFERENCES = ("measure", "run", "difference", "p", "seen from")


class RunDifference(NamedTuple):
    """How the run at place ``run`` differs from the first in a measure.

    ``p`` is corrected for all tests of the comparison; ``detectable`` is the minimum detectable effect.
    """

    measure: Measure
    run: int
    found: Contrast
    p: float
    is_real: bool
    detectable: float

    @property
    def gain_text(self) -> str:
        """Return the gain with its interval: points for a share, else pairs of a hundred."""
        gain, low, high = (100 * part for part in (self.found.gain, self.found.low, self.found.high))
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
    """Runs beside the first of them.

    Attributes:
        names: of the runs, all different.
        values: for each measure the values of each run, None where the run lacks them.
        differences: those that could be tested.
        notes: how to read it, a sentence or two each.
    """

    names: Sequence[str]
    runs: Sequence[RunAnalysis]
    values: Sequence[Sequence[Values | None]]
    differences: Sequence[RunDifference]
    notes: Sequence[str]

    def figures(self) -> list[tuple[str, ...]]:
        """Return the rows of the table of figures: the name of each and its value for every run."""
        size = min(len(run.samples) for run in self.runs)
        rows = [("samples", *map(_samples, self.runs)), ("expected good", *map(_expected, self.runs))]
        for measure, values in zip(MEASURES, self.values, strict=True):
            rows.append((measure.name, *(_figure(measure, of_run) for of_run in values)))
        if size > 1:
            rows.append((f"distinct pairs of words, of {size:,}", *(_distinct(run, size) for run in self.runs)))
        rows.append(("calls for each sample", *(_for_each(run, run.calls.calls) for run in self.runs)))
        tokens = (_for_each(run, run.calls.completion_tokens) for run in self.runs)
        rows.append(("tokens written for each sample", *tokens))
        rows.append(("seconds for each sample", *(_for_each(run, run.seconds) for run in self.runs)))
        return rows

    def difference_rows(self) -> list[tuple[str, ...]]:
        """Return the rows of the table of differences; a real one is marked."""
        return [
            (
                found.measure.name,
                self.names[found.run],
                f"{found.gain_text}{', real' if found.is_real else ''}",
                p_text(found.p),
                found.detectable_text,
            )
            for found in self.differences
        ]

    def conclusions(self) -> list[str]:
        """Return one sentence for each real difference, and one for those that cannot be told from chance."""
        lines = [
            f"{self.names[found.run]} differs from {self.names[0]} in {found.measure.name}: {found.gain_text}, "
            f"{p_text(found.p)}."
            for found in self.differences
            if found.is_real
        ]
        if unreal := len(self.differences) - len(lines):
            which = f"Of the others ({unreal}), none" if lines else f"Of {counted(unreal, 'difference')}, none"
            lines.append(f"{which} can be told from chance; how large each had to be stands beside it.")
        return lines or ["Nothing could be tested: it takes two samples in each run."]

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
                    "from": self.names[0], "gain": round(tested.found.gain, 4),
                    "interval": [round(tested.found.low, 4), round(tested.found.high, 4)], "p": round(tested.p, 6),
                    "is_real": tested.is_real, "detectable": round(tested.detectable, 4),
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
            "The figures",
            "Shares with their 95 % interval (Wilson); of other values the median and the quartiles.",
            tables=[PageTable("", ("measure", *self.names), self.figures(), texts=True)],
        )
        shares = self._chart("share", "Shares", "difference in points of a hundred")
        others = self._chart("values", "Other values", "pairs of 100 in which it is higher, less 50")
        differences = PageSection(
            "differences",
            "What differs",
            f"Each run is compared with {self.names[0]}. 'Seen from' is the smallest difference that these runs show "
            "four times in five. A pair is a question of each of the two runs; 50 of 100 is no difference.",
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
        gains = [(100 * found.gain, 100 * found.low, 100 * found.high) for _, _, found, *_ in shown]
        rows = [(label, tested.gain_text, p_text(tested.p)) for label, tested in zip(labels, shown, strict=True)]
        return Chart(
            title,
            "A point for each difference with its 95 % interval; one that crosses the line of zero may be none.",
            charts.intervals(f"differences-{kind}", labels, gains, across),
            PageTable("", ("measure", "difference", "p"), rows),
        )


def compare_runs(folders: Sequence[Path]) -> RunComparison:
    """Compare runs with the first of them.

    Raises:
        InputError: fewer than two are named, one is named twice, or one holds no run.
        DamagedRunError: what one holds cannot be read.
    """
    if len(folders) < 2:
        raise InputError("RUN: a comparison takes two runs or more")
    for place, folder in enumerate(folders):
        if folder.resolve() in [other.resolve() for other in folders[:place]]:
            raise InputError(f"RUN: {folder} is named twice")
    runs = [RunAnalysis(folder) for folder in folders]
    names = _names(runs)
    size = min(len(run.samples) for run in runs)
    values = [[measure.values(run, size) for run in runs] for measure in MEASURES]
    tested, untested = [], []
    for measure, (before, *others) in zip(MEASURES, values, strict=True):
        for place, after in enumerate(others, 1):
            if before is None or after is None:
                continue
            if measure.same and (measure.same(runs[0]) or {}) != measure.same(runs[place]):
                untested.append(f"{measure.name} of {names[place]} is not tested: {measure.unless}.")
                continue
            contrast = contrast_shares if measure.kind == "share" else contrast_values
            if found := contrast(before, after):
                tested.append((measure, place, found))
    differences = [
        RunDifference(measure, place, found, p, p < ALPHA and not found.low <= 0 <= found.high,
                      found.detectable(len(tested)))
        for (measure, place, found), p in zip(tested, holm([found.p for *_, found in tested]), strict=True)
    ]  # fmt: skip
    notes = [*_corpora(names, runs), *([_TESTS.format(len(tested))] if tested else []), *untested]
    return RunComparison(names, runs, values, differences, notes)


def _names(runs: Sequence[RunAnalysis]) -> list[str]:
    """Return the names of folders, with a number where an earlier one has the same."""
    names: list[str] = []
    for run in runs:
        tries = (run.name if number == 1 else f"{run.name} ({number})" for number in count(1))
        names.append(next(name for name in tries if name not in names))
    return names


def _corpora(names: Sequence[str], runs: Sequence[RunAnalysis]) -> list[str]:
    """Return for each run whether it has the documents, and any questions, of the first."""
    lines = []
    first, texts = runs[0], runs[0].document_texts
    questions = {sample.id for sample in first.samples}
    for name, run in zip(names[1:], runs[1:], strict=True):
        same = len(texts & run.document_texts)
        if run.document_texts == texts:
            how = "cut the same way" if run.chunk_texts == first.chunk_texts else "cut in another way"
            lines.append(f"{name} is over the same {counted(same, 'document')} as {names[0]}, {how}.")
        elif same:
            sizes = f"{len(run.document_texts):,} and {len(texts):,}"
            lines.append(f"{name} shares {counted(same, 'document')} with {names[0]}, of {sizes}.")
        else:
            lines.append(f"{name} shares no document with {names[0]}: what differs may lie in the documents.")
        if both := len(questions & {sample.id for sample in run.samples}):
            verb = "is" if both == 1 else "are"
            lines.append(
                f"{counted(both, 'question')} of {name} {verb} in {names[0]} too; the tests take the runs as made "
                "apart, so they see less than there is."
            )
    return lines


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
    found, total = distinct([run.samples[place].question for place in drawn(len(run.samples), size)], 2)
    return percent(found / total) if total else UNKNOWN


def _for_each(run: RunAnalysis, total: float) -> str:
    return f"{total / len(run.samples):,.1f}" if run.samples and total and not run.derived else UNKNOWN
