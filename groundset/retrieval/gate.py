"""Whether a system finds less than an earlier one on the same questions, as far as the questions
can show it.

One measure decides, by paired permutation tests of a loss: over all questions, which have four
fifths of the 5 % of false alarms, and in strata, which share the rest.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from groundset.printing import counted
from groundset.programs import stats
from groundset.programs.errors import InputError
from groundset.programs.stats import ALPHA, Estimate, Units, Values, bootstrap_mean
from groundset.programs.text import one_line
from groundset.programs.types import Sample

_SHARE = 0.8  # of the false alarms, for all questions
_FEWEST = 12  # units of a stratum: that all lose is significant beside 40 other strata


class Change(NamedTuple):
    """What became of the measure in a stratum; p is corrected, and ``detectable`` is the smallest
    loss that is seen with 80 % power.
    """

    stratum: str
    questions: int
    before: float
    now: float
    gain: Estimate
    detectable: float
    p: float

    @property
    def is_loss(self) -> bool:
        """Return whether p is below 0.05."""
        return self.p < ALPHA

    def __str__(self) -> str:
        """Return the change in words."""
        return f"{self.before:.2f} → {self.now:.2f} (change {self.gain}, {stats.p_text(self.p)})"


class Gate(NamedTuple):
    """The changes of the measure that decides, first over all questions, and what to know about
    them.
    """

    measure: str
    changes: Sequence[Change]
    others: Mapping[str, tuple[float, float]]  # the means of other measures, before and now
    notes: Sequence[str]

    @property
    def losses(self) -> list[Change]:
        """Return the significant losses."""
        return [change for change in self.changes if change.is_loss]

    def markdown(self) -> str:
        """Return the outcome as one line of Markdown, with the losses that could not have been
        seen.
        """
        overall, *strata = self.changes
        outcome = "**Loss**" if self.losses else "**No loss seen**"
        lost = [f"; {code_span(each.stratum)}: {each}" for each in strata if each.is_loss]
        others = (f"{name} {old:.2f} → {new:.2f}" for name, (old, new) in self.others.items())
        within = f", {min(each.detectable for each in strata):.2f} in a stratum" if strata else ""
        parts = [
            f"{outcome} on {counted(overall.questions, 'question')}: {self.measure}"
            f" {overall}{''.join(lost)}. Not tested: {', '.join(others)}.",
            f"Losses below about {overall.detectable:.2f}{within} could not be seen.",
        ]
        return " ".join((*parts, *self.notes))

    def record(self) -> dict[str, Any]:
        """Return all figures as JSON types."""
        changes = [{**each._asdict(), "is_loss": each.is_loss} for each in self.changes]
        return {
            **self._asdict(),
            "passed": not self.losses,
            "changes": changes,
            "markdown": self.markdown(),
        }


def gate(
    samples: Sequence[Sample],
    before: Mapping[str, Values],
    after: Mapping[str, Values],
    measure: str,
    notes: Sequence[str] = (),
) -> Gate:
    """Compare the values of measures before and after, a value for each sample; ``measure``
    decides.

    Raises:
        InputError: so few questions could not show any loss.
    """
    units, fewest = _units(samples, range(len(samples))), _losers(_SHARE)
    if (count := np.unique(units).size) < fewest:
        raise InputError(
            f"--baseline: {counted(count, 'question')} cannot show any loss; it takes {fewest} or"
            " more"
        )
    strata = _strata(samples)
    share = (1 - _SHARE) / max(1, len(strata))
    old, new = before[measure], after[measure]
    changes = [
        _change(name, old[places], new[places], _units(samples, places), share)
        for name, places in strata.items()
    ]
    overall = _change("all questions", old, new, units, _SHARE)
    others = {
        name: (float(before[name].mean()), float(after[name].mean()))
        for name in after
        if name != measure
    }
    return Gate(measure, [overall, *changes], others, notes)


def _change(stratum: str, old: Values, new: Values, units: Units, share: float) -> Change:
    """Test a loss, with a share of the false alarms."""
    gains = new - old
    gain = bootstrap_mean(gains, units, lowest=-1.0)
    tests = 1 / (2 * share)  # of both sides, each of which would have as much
    least = max(stats.detectable_gain(gain, tests), _losers(share) / len(old))
    p = stats.permutation(gains, units, math.ceil(1 / share), "less") / share
    means = float(old.mean()), float(new.mean())
    return Change(stratum, len(old), *means, gain, min(1.0, least), min(1.0, p))


def _losers(share: float) -> int:
    """Return how many units must lose, as half of all swaps of a unit are losses."""
    return math.ceil(-math.log2(ALPHA * share))


def _units(samples: Sequence[Sample], places: Sequence[int]) -> Units:
    return stats.resampling_units([samples[place].contexts[0].doc_id for place in places])[0]


def _strata(samples: Sequence[Sample]) -> dict[str, list[int]]:
    """Return the places of the questions of each evolution, document and language with enough of
    them.

    A stratum has at most half of all questions: a loss in more is one of all.
    """
    found: defaultdict[str, list[int]] = defaultdict(list)
    for place, sample in enumerate(samples):
        found[f"evolution {sample.evolution}"].append(place)
        found[f"document {sample.contexts[0].path}"].append(place)
        found[f"language {sample.language}"].append(place)
    return {
        name: places
        for name, places in found.items()
        if 2 * len(places) <= len(samples) and np.unique(_units(samples, places)).size >= _FEWEST
    }


def code_span(text: str) -> str:
    """Return a text as a code span of Markdown, in which nothing has a meaning."""
    return f"`{one_line(text).replace('`', chr(39))}`"
