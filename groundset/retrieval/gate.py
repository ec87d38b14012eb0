"""Whether a system finds less than an earlier one on the same questions, as far as the questions
can show it.

Each measure is compared overall and in every stratum of enough questions by a paired permutation
test; p is corrected by Holm's procedure over all these tests. A loss is a significant one.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from groundset import stats
from groundset.printing import counted
from groundset.programs.text import one_line
from groundset.programs.types import Sample
from groundset.stats import ALPHA, Estimate, Units, Values, bootstrap_mean

OVERALL = "all questions"


class Change(NamedTuple):
    """What became of a measure in a stratum; ``detectable`` is the smallest loss that is seen with
    80 % power.

    It is None if so few questions cannot show any.
    """

    stratum: str
    questions: int
    measure: str
    before: float
    now: float
    gain: Estimate
    detectable: float | None
    p: float = 1.0

    @property
    def is_loss(self) -> bool:
        """Return whether the measure fell, p is below 0.05 and the interval of the change excludes
        zero.
        """
        return self.p < ALPHA and self.gain.high < 0

    def __str__(self) -> str:
        """Return the change in words."""
        return (
            f"{self.measure} {self.before:.2f} → {self.now:.2f} (change {self.gain},"
            f" {stats.p_text(self.p)})"
        )


class Gate(NamedTuple):
    """The changes of all measures, those over all questions first, and what to know about them."""

    changes: Sequence[Change]
    notes: Sequence[str]

    @property
    def losses(self) -> list[Change]:
        """Return the significant losses."""
        return [change for change in self.changes if change.is_loss]

    def markdown(self) -> str:
        """Return the outcome as one line of Markdown, with the losses that could not have been
        seen.
        """
        overall = [each for each in self.changes if each.stratum == OVERALL]
        strata = groupby(self.losses or overall, key=lambda each: each.stratum)
        told = "; ".join(
            f"{code_span(name)}: {', '.join(map(str, changes))}" for name, changes in strata
        )
        tests = f"{counted(len(overall), 'measure')} in {counted(len(self.changes), 'test')}"
        outcome = "**Loss**" if self.losses else "**No loss seen**"
        parts = [f"{outcome} on {counted(overall[0].questions, 'question')} ({tests}): {told}."]
        for where, found in (("", overall), (" in a stratum", self.changes[len(overall) :])):
            if seen := [each.detectable for each in found if each.detectable is not None]:
                least = " to ".join(dict.fromkeys(f"{each:.2f}" for each in (min(seen), max(seen))))
                parts.append(f"Losses{where} below about {least} could not be seen.")
            elif found:
                parts.append("So few questions could not have shown any loss.")
        return " ".join((*parts, *self.notes))

    def record(self) -> dict[str, Any]:
        """Return all figures as JSON types."""
        changes = [{**each._asdict(), "is_loss": each.is_loss} for each in self.changes]
        return {
            "passed": not self.losses,
            "changes": changes,
            "notes": self.notes,
            "markdown": self.markdown(),
        }


def gate(
    samples: Sequence[Sample],
    before: Mapping[str, Values],
    after: Mapping[str, Values],
    notes: Sequence[str] = (),
) -> Gate:
    """Compare the values of measures before and after, a value for each sample."""
    strata = _strata(samples, len(after))
    changes, pvalues, tests = [], [], len(strata) * len(after)
    least = _fewest_losers(tests)
    for name, places, units in strata:
        is_blind = least > np.unique(units).size
        for measure in after:
            old, new = before[measure][places], after[measure][places]
            gain = bootstrap_mean(new - old, units, lowest=-1.0)
            detectable = (
                None if is_blind else max(stats.detectable_gain(gain, tests), least / len(places))
            )
            means = float(old.mean()), float(new.mean())
            changes.append(Change(name, len(places), measure, *means, gain, detectable))
            pvalues.append(stats.permutation(old, new, units, tests))
    corrected = zip(changes, stats.holm(pvalues), strict=True)
    return Gate([change._replace(p=p) for change, p in corrected], notes)


def _strata(samples: Sequence[Sample], measures: int) -> list[tuple[str, list[int], Units]]:
    """Return name, places and units of all questions, and of the strata in which a loss can be
    significant.
    """
    found: defaultdict[str, list[int]] = defaultdict(list)
    for place, sample in enumerate(samples):
        kinds = (
            ("evolution", sample.evolution),
            ("document", sample.contexts[0].path),
            ("language", sample.language),
        )
        for name in (OVERALL, *(f"{kind} {value}" for kind, value in kinds)):
            found[name].append(place)
    documents = [sample.contexts[0].doc_id for sample in samples]
    everything, *strata = [
        (name, places, stats.resampling_units([documents[place] for place in places])[0])
        for name, places in found.items()
        if name == OVERALL or len(places) < len(samples)
    ]
    strata.sort(key=lambda stratum: -np.unique(stratum[2]).size)
    while strata and np.unique(strata[-1][2]).size < _fewest_losers((1 + len(strata)) * measures):
        strata.pop()
    return [everything, *strata]


def _fewest_losers(tests: int) -> int:
    """Return how many units must lose: fewer do so by chance too often, as half of all swaps of a
    unit are losses.
    """
    return math.floor(math.log2(2 * tests / ALPHA)) + 1


def code_span(text: str) -> str:
    """Return a text as a code span of Markdown, in which nothing has a meaning."""
    return f"`{one_line(text).replace('`', chr(39))}`"
