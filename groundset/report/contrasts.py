"""Whether two runs differ: shares by Fisher's exact test, other values by Mann's and Whitney's."""

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from groundset.report.power import POWER
from groundset.report.shares import wilson
from groundset.retrieval_eval.figures import ALPHA, Values

_FEWEST = 2  # values of a run that say anything of their spread
_GRID = 1001  # gains that are tried; finer than what is told


class Contrast(NamedTuple):
    """How far one run lies above another.

    ``gain`` is the difference of two shares; for other values it is how much more often than one half a value of the
    one is higher than a value of the other. ``low`` and ``high`` bound its 95 % interval. ``detectable`` returns the
    smallest gain that so many tests together would see four times in five; the largest there can be, if they see none.
    """

    gain: float
    low: float
    high: float
    p: float
    detectable: Callable[[int], float]


def contrast_shares(before: Values, after: Values) -> Contrast | None:
    """Return how two shares differ; values are 0 or 1. None where a run has none.

    Source: R. G. Newcombe, Interval estimation for the difference between independent proportions (1998), method 10.
    """
    from scipy.stats import fisher_exact

    if not len(before) or not len(after):
        return None
    (had, all_before), (has, all_after) = ((int(each.sum()), len(each)) for each in (before, after))
    one, other = had / all_before, has / all_after
    (low_before, high_before), (low_after, high_after) = wilson(had, all_before), wilson(has, all_after)
    gain = other - one
    return Contrast(
        gain,
        gain - math.hypot(other - low_after, high_before - one),
        gain + math.hypot(high_after - other, one - low_before),
        float(fisher_exact([[has, all_after - has], [had, all_before - had]]).pvalue),
        partial(_share_seen, one, all_before, all_after),
    )


def contrast_values(before: Values, after: Values) -> Contrast | None:
    """Return how two sets of values differ. None where a run has fewer than two.

    Source: E. R. DeLong et al., Comparing the areas under two or more correlated ROC curves (1988), for the interval.
    """
    from scipy.stats import mannwhitneyu

    few, many = len(before), len(after)
    if min(few, many) < _FEWEST:
        return None
    above, below = _placements(after, before), 1 - _placements(before, after)
    gain = float(above.mean()) - 0.5
    alike = math.sqrt((few + many + 1) / (12 * few * many))
    spread = math.sqrt(above.var(ddof=1) / many + below.var(ddof=1) / few) or alike
    reach = _quantile(ALPHA / 2) * spread
    p = float(mannwhitneyu(after, before).pvalue) if np.ptp(np.concatenate([before, after])) else 1.0
    return Contrast(gain, max(-0.5, gain - reach), min(0.5, gain + reach), p, partial(_pairs_seen, alike))


def _share_seen(before: float, few: int, many: int, tests: int) -> float:
    """Return how far another share has to lie from ``before`` to be seen, upwards or downwards, whichever is nearer.

    Source: J. L. Fleiss et al., A simple approximation for calculating sample sizes for comparing independent
    proportions (1980), with its correction for how cautious an exact test is.
    """
    gains = np.linspace(0, 1, _GRID)
    seen = [1.0]
    for after in (before + gains, before - gains):
        possible = (after >= 0) & (after <= 1)
        share = after[possible]
        pooled = (few * before + many * share) / (few + many)
        level = np.sqrt(pooled * (1 - pooled) * (1 / few + 1 / many))
        power = np.sqrt(before * (1 - before) / few + share * (1 - share) / many)
        needed = (1 / few + 1 / many) / 2 + _quantile(ALPHA / 2 / tests) * level + _quantile(1 - POWER) * power
        seen += gains[possible][gains[possible] >= needed][:1].tolist()
    return min(seen)


def _pairs_seen(spread: float, tests: int) -> float:
    """Return the gain in pairs that is seen, by its standard error if both runs were alike."""
    return min(0.5, (_quantile(ALPHA / 2 / tests) + _quantile(1 - POWER)) * spread)


def _quantile(tail: float) -> float:
    from scipy.stats import norm

    return float(norm.isf(tail))


def _placements(values: Values, others: Values) -> Values:
    """Return for each value the share of the others that it is higher than; half of those that it equals count."""
    ranked = np.sort(others)
    lower, upper = (np.searchsorted(ranked, values, side=side) for side in ("left", "right"))
    placed: Values = (lower + upper) / (2 * len(others))
    return placed
