"""Runs side by side: their figures, and which differences from the first of them are real."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from groundset.progress import counted
from groundset.report.facts import RunFacts, read_facts
from groundset.report.measures import MEASURES, Measure, drawn
from groundset.report.shares import bounds, percent, wilson
from groundset.report.words import distinct
from groundset.stats import ALPHA, Contrast, Values, contrast_shares, contrast_values, holm, p_text
from groundset.store.promise import promise_of
from programs.errors import InputError


class Change(NamedTuple):
    """How the run at place ``run`` differs from the first in a measure.

    ``p`` is corrected for all tests of the comparison; ``detectable`` is the gain that it would have taken.
    """

    measure: Measure
    run: int
    found: Contrast
    p: float
    is_real: bool
    detectable: float

    def told(self) -> str:
        """Return the gain with its interval: points for a share, else pairs of a hundred."""
        found = self.found
        if self.measure.kind == "share":
            return f"{100 * found.gain:+.0f} points ({100 * found.low:+.0f} to {100 * found.high:+.0f})"
        middle, low, high = (50 + 100 * part for part in (found.gain, found.low, found.high))
        return f"higher in {middle:.0f} of 100 pairs ({low:.0f} to {high:.0f})"

    def seen_from(self) -> str:
        """Return the gain that it would have taken."""
        points = 100 * self.detectable
        if self.measure.kind == "share":
            return f"{points:.0f} points" if points < 100 else "none"
        return f"{50 + points:.0f} of 100" if points < 50 else "none"


@dataclass(frozen=True, eq=False)
class RunComparison:
    """What is known of several runs.

    Attributes:
        names: what to call each.
        facts: what is known of each.
        values: for each measure the values of each run, None where it does not know them.
        changes: the differences that could be tested.
        notes: how to read it, each a sentence or two.
    """

    names: Sequence[str]
    facts: Sequence[RunFacts]
    values: Sequence[Sequence[Values | None]]
    changes: Sequence[Change]
    notes: Sequence[str]

    def figures(self) -> list[tuple[str, ...]]:
        """Return the table of figures: the name of each and what it is for every run."""
        rows = [("samples", *(_of_asked(facts) for facts in self.facts))]
        rows.append(("expected good", *(_expected(facts) for facts in self.facts)))
        for measure, values in zip(MEASURES, self.values, strict=True):
            rows.append((measure.name, *(_cell(measure, each) for each in values)))
        size = min(len(facts.samples) for facts in self.facts)
        if size > 1:
            rows.append((f"distinct pairs of words, of {size:,}", *(_distinct(facts, size) for facts in self.facts)))
        for name, totals in (
            ("calls for each sample", [facts.calls.calls for facts in self.facts]),
            ("tokens written for each sample", [facts.calls.completion_tokens for facts in self.facts]),
            ("seconds for each sample", [facts.seconds for facts in self.facts]),
        ):
            rows.append((name, *map(_each, totals, self.facts)))
        return rows

    def conclusions(self) -> list[str]:
        """Say each real difference in one sentence, and in one more what could not be told apart."""
        real = [change for change in self.changes if change.is_real]
        said = [
            f"{self.names[change.run]} differs from {self.names[0]} in {change.measure.name}: {change.told()}, "
            f"{p_text(change.p)}."
            for change in real
        ]
        if unreal := len(self.changes) - len(real):
            which = f"Of the others ({unreal}), none" if real else f"Of {counted(unreal, 'difference')}, none"
            said.append(f"{which} can be told from chance; how large each had to be stands beside it.")
        return said or ["Nothing could be tested: it takes two samples in each run."]

    def record(self) -> dict[str, Any]:
        """Return the comparison as a JSON object; intervals are lists of two bounds."""
        return {
            "runs": [
                {
                    "name": name,
                    "samples": len(facts.samples),
                    "asked": facts.asked,
                    "documents": len(facts.sources),
                    "chunks": len(facts.chunk_ids),
                }
                for name, facts in zip(self.names, self.facts, strict=True)
            ],
            "measures": [
                {"name": measure.name, "kind": measure.kind, "runs": [_record(measure, each) for each in values]}
                for measure, values in zip(MEASURES, self.values, strict=True)
            ],
            "differences": [
                {
                    "measure": change.measure.name,
                    "kind": change.measure.kind,
                    "run": self.names[change.run],
                    "from": self.names[0],
                    "gain": round(change.found.gain, 4),
                    "interval": [round(change.found.low, 4), round(change.found.high, 4)],
                    "p": round(change.p, 6),
                    "is_real": change.is_real,
                    "detectable": round(change.detectable, 4),
                }
                for change in self.changes
            ],
            "conclusions": self.conclusions(),
            "notes": list(self.notes),
        }


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
    facts = [read_facts(folder) for folder in folders]
    names = _names(facts)
    size = min(len(each.samples) for each in facts)
    values = [[measure.values(each, size) for each in facts] for measure in MEASURES]
    tested, untested = [], []
    for measure, known in zip(MEASURES, values, strict=True):
        for run in range(1, len(facts)):
            before, after = known[0], known[run]
            if before is None or after is None:
                continue
            if measure.same and (measure.same(facts[0]) or {}) != measure.same(facts[run]):
                untested.append(f"{measure.name} of {names[run]} is not tested: {measure.unless}.")
                continue
            contrast = contrast_shares if measure.kind == "share" else contrast_values
            if found := contrast(before, after):
                tested.append((measure, run, found))
    corrected = holm([found.p for _, _, found in tested])
    changes = [
        Change(measure, run, found, p, p < ALPHA and not found.low <= 0 <= found.high, found.detectable(len(tested)))
        for (measure, run, found), p in zip(tested, corrected, strict=True)
    ]
    return RunComparison(names, facts, values, changes, [*_corpora(names, facts), *_reading(len(tested)), *untested])


def _names(facts: Sequence[RunFacts]) -> list[str]:
    """Return the names of folders, with a number where an earlier one is called the same."""
    names: list[str] = []
    for each in facts:
        tries = (each.name if number == 1 else f"{each.name} ({number})" for number in count(1))
        names.append(next(name for name in tries if name not in names))
    return names


def _corpora(names: Sequence[str], facts: Sequence[RunFacts]) -> list[str]:
    """Say of each run whether it is over the documents of the first, and whether it holds questions of it."""
    said = []
    first = {source.digest for source in facts[0].sources}
    asked = {sample.id for sample in facts[0].samples}
    for name, each in zip(names[1:], facts[1:], strict=True):
        texts = {source.digest for source in each.sources}
        same = len(first & texts)
        if texts == first:
            cut = "cut the same way" if each.cut == facts[0].cut else "cut in another way"
            told = f"is over the same {counted(same, 'document')} as {names[0]}, {cut}"
        elif same:
            told = f"shares {counted(same, 'document')} with {names[0]}, of {len(texts):,} and {len(first):,}"
        else:
            told = f"shares no document with {names[0]}: what differs may lie in the documents"
        said.append(f"{name} {told}.")
        if both := len(asked & {sample.id for sample in each.samples}):
            verb = "is" if both == 1 else "are"
            said.append(
                f"{counted(both, 'question')} of {name} {verb} in {names[0]} too; the tests take the runs as made "
                "apart, so they see less than there is."
            )
    return said


def _reading(tests: int) -> list[str]:
    if not tests:
        return []
    return [
        f"Shares are tested by Fisher's exact test, other values by Mann's and Whitney's; the p of all {tests} tests "
        "together are corrected by Holm's procedure, and real means below 0.05 with an interval that leaves out no "
        "difference. Questions count as independent, so with few documents a difference is less sure than it says."
    ]


def _of_asked(facts: RunFacts) -> str:
    return f"{len(facts.samples):,}" if facts.asked is None else f"{len(facts.samples):,} of {facts.asked:,}"


def _expected(facts: RunFacts) -> str:
    promise = promise_of(facts.meta["compiled"], facts.samples)
    if promise is None:
        return "not known"
    return f"{percent(promise.share)} ({bounds(promise.low, promise.high)})"


def _cell(measure: Measure, values: Values | None) -> str:
    if values is None or not len(values):
        return "not known"
    if measure.kind == "share":
        return f"{percent(float(values.mean()))} ({bounds(*wilson(int(values.sum()), len(values)))}, n={len(values):,})"
    low, middle, high = np.quantile(values, (0.25, 0.5, 0.75))
    told = f"{middle:.{measure.digits}f} ({low:.{measure.digits}f} to {high:.{measure.digits}f}"
    return f"{told}, n={len(values):,})"


def _record(measure: Measure, values: Values | None) -> dict[str, Any] | None:
    if values is None or not len(values):
        return None
    if measure.kind == "share":
        low, high = wilson(int(values.sum()), len(values))
        return {"n": len(values), "share": round(float(values.mean()), 4), "interval": [round(low, 4), round(high, 4)]}
    low, middle, high = (round(float(part), 4) for part in np.quantile(values, (0.25, 0.5, 0.75)))
    return {"n": len(values), "median": middle, "quartiles": [low, high]}


def _distinct(facts: RunFacts, size: int) -> str:
    found, total = distinct([facts.samples[place].question for place in drawn(len(facts.samples), size)], 2)
    return percent(found / total) if total else "not known"


def _each(total: float, facts: RunFacts) -> str:
    return f"{total / len(facts.samples):,.1f}" if facts.samples and total and not facts.derived else "not known"
