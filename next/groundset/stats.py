"""Estimates with 95 % intervals, significance tests with Holm's correction, and the smallest detectable effects.

| name | what it returns |
|---|---|
| `wilson(part, whole)` | a share with Wilson's interval |
| `bootstrap_mean(values, units)` | a mean with its bootstrap interval over `resampling_units(documents)` |
| `kappa(first, second)` | Cohen's kappa of two reviewers with its interval |
| `mcnemar(gains)`, `permutation(before, after, units)` | p of paired values: exact sign test, permutation test |
| `contrast_shares(before, after)`, `contrast_values(before, after)` | the `Contrast` of two sets of unpaired values |
| `holm(pvalues)`, `p_text(p)` | corrected p-values; a p-value as text |
| `detectable_gain(gain, questions, tests)` | the smallest gain that a paired test would have shown |
| `detectable_difference(questions, disagreement)` | the same for hit rates, before anything is measured |

`Estimate` is a value with its bounds. Tests and distributions are scipy's; this adds cases without data or variance.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
Units = NDArray[np.intp]

ALPHA = 0.05
POWER = 0.8
_DRAWS: dict[str, Any] = {"batch": 500, "rng": 0, "vectorized": True}
_FEWEST_DOCUMENTS = 10
_GRID = 1001  # gains to test; finer than the displayed digits
_REACH = 1.959964  # of a 95 % interval, in standard errors
_ROUNDS = 20  # of a fixed point; more precise than the displayed digits


class Estimate(NamedTuple):
    """A mean or a share with the bounds of its 95 % interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        """Format the value and its bounds with two digits."""
        value, low, high = (f"{round(part, 2) + 0.0:.2f}" for part in self)  # avoids -0.00
        return f"{value} ({low} to {high})"


class Contrast(NamedTuple):
    """The difference between the values of two runs.

    ``gain`` is the difference of two shares, or for other values the probability that a value of one run is higher than
    a value of the other, minus one half. ``low`` and ``high`` bound its 95 % interval. ``detectable`` returns the
    smallest detectable effect for a number of tests, at most the largest possible gain.
    """

    gain: float
    low: float
    high: float
    p: float
    detectable: Callable[[int], float]


def wilson(part: int, whole: int) -> Estimate | None:
    """Estimate a share with Wilson's interval; None if ``whole`` is 0."""
    from scipy.stats import binomtest

    if not whole:
        return None
    bounds = binomtest(part, whole).proportion_ci(method="wilson")
    return Estimate(part / whole, float(bounds.low), float(bounds.high))


def resampling_units(documents: Sequence[str]) -> tuple[Units, bool]:
    """Return the resampling unit of each question, and whether units are documents.

    Questions about one document are correlated, so whole documents are resampled if there are at least ten. With fewer,
    questions are resampled, and the interval holds for these documents only.
    """
    names, units = np.unique(np.array(documents, dtype=str), return_inverse=True)
    by_document = _FEWEST_DOCUMENTS <= len(names) < len(documents)
    return (units if by_document else np.arange(len(documents))), by_document


def bootstrap_mean(values: Values, units: Units, *, lowest: float = 0.0) -> Estimate:
    """Estimate a mean of values between ``lowest`` and 1 with its percentile bootstrap interval.

    If all values are equal, the interval is as wide as Wilson's for as many equal outcomes. If all units have the same
    mean, values are resampled instead.
    """
    from scipy.stats import bootstrap

    value = float(values.mean())
    if np.ptp(values) == 0:
        width = wilson(0, len(values)).high  # type: ignore[union-attr]
        return Estimate(value, max(lowest, value - width), min(1.0, value + width))
    if np.allclose(np.bincount(units, weights=values), value * np.bincount(units)):
        units = np.arange(len(values))
    sums, counts = np.bincount(units, weights=values), np.bincount(units).astype(float)

    def ratio(sums: Any, counts: Any, axis: int) -> Any:
        return sums.sum(axis=axis) / counts.sum(axis=axis)

    found = bootstrap((sums, counts), ratio, paired=True, method="percentile", n_resamples=5000, **_DRAWS)
    return Estimate(value, float(found.confidence_interval.low), float(found.confidence_interval.high))


def kappa(first: Sequence[str], second: Sequence[str]) -> Estimate | None:
    """Return Cohen's kappa of two reviewers of the same rows; None if one of them gives only one verdict.

    The interval is Wilson's of the observed agreement, with the agreement by chance as it is.
    """
    if len(set(first)) < 2 or len(set(second)) < 2:
        return None
    chance = sum(first.count(verdict) * second.count(verdict) for verdict in set(first)) / len(first) ** 2
    agreed = wilson(sum(one == other for one, other in zip(first, second, strict=True)), len(first))
    assert agreed is not None
    return Estimate(*((part - chance) / (1 - chance) for part in agreed))


def mcnemar(gains: Values) -> float:
    """Return the exact p-value of McNemar's test for gains of -1, 0 and 1; for other gains, of the sign test."""
    from scipy.stats import binomtest

    won, lost = int((gains > 0).sum()), int((gains < 0).sum())
    return float(binomtest(won, won + lost).pvalue) if won + lost else 1.0


def permutation(before: Values, after: Values, units: Units) -> float:
    """Return the p-value of a paired permutation test that swaps the two values of units at random."""
    from scipy.stats import permutation_test

    if np.array_equal(before, after):
        return 1.0
    sums = np.bincount(units, weights=before), np.bincount(units, weights=after)
    if len(sums[0]) < 2:  # a single unit can be swapped with itself only
        return 1.0

    def gain(one: Any, other: Any, axis: int) -> Any:
        return (other - one).sum(axis=axis)

    return float(permutation_test(sums, gain, permutation_type="samples", n_resamples=9999, **_DRAWS).pvalue)


def holm(pvalues: Sequence[float]) -> list[float]:
    """Correct p-values for multiple tests.

    Source: S. Holm, A simple sequentially rejective multiple test procedure (1979).
    """
    order = np.argsort(pvalues, kind="stable")
    steps = np.arange(len(pvalues), 0, -1) * np.asarray(pvalues, dtype=float)[order]
    corrected = np.empty(len(pvalues))
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(steps))
    return [float(p) for p in corrected]


def p_text(p: float) -> str:
    """Format a p-value."""
    return "p<0.001" if p < 0.001 else f"p={p:.2g}"


def contrast_shares(before: Values, after: Values) -> Contrast | None:
    """Compare two shares by Fisher's exact test; values are 0 or 1. None if a run has no values.

    Source: R. G. Newcombe, Interval estimation for the difference between independent proportions (1998), method 10.
    """
    from scipy.stats import fisher_exact

    old, new = (wilson(int(values.sum()), len(values)) for values in (before, after))
    if old is None or new is None:
        return None
    gain = new.value - old.value
    low = gain - math.hypot(new.value - new.low, old.high - old.value)
    high = gain + math.hypot(new.high - new.value, old.value - old.low)
    p = fisher_exact([[values.sum(), len(values) - values.sum()] for values in (after, before)]).pvalue
    return Contrast(gain, low, high, float(p), partial(_detectable_share, old.value, len(before), len(after)))


def contrast_values(before: Values, after: Values) -> Contrast | None:
    """Compare two sets of values by the Mann-Whitney test. None if a run has fewer than two.

    Source: E. R. DeLong et al., Comparing the areas under two or more correlated ROC curves (1988), for the interval.
    """
    from scipy.stats import mannwhitneyu

    few, many = len(before), len(after)
    if min(few, many) < 2:
        return None
    above, below = _placements(after, before), 1 - _placements(before, after)
    gain = float(above.mean()) - 0.5
    chance = math.sqrt((few + many + 1) / (12 * few * many))
    error = math.sqrt(above.var(ddof=1) / many + below.var(ddof=1) / few) or chance
    low, high = max(-0.5, gain - _REACH * error), min(0.5, gain + _REACH * error)
    p = float(mannwhitneyu(after, before).pvalue) if np.ptp(np.concatenate([before, after])) else 1.0

    def detectable(tests: int) -> float:
        return min(0.5, (_quantile(ALPHA / 2 / tests) + _quantile(1 - POWER)) * chance)

    return Contrast(gain, low, high, p, detectable)


def _placements(values: Values, others: Values) -> Values:
    """Return for each value the share of the others that are lower; equal ones count half."""
    ranked = np.sort(others)
    lower, upper = (np.searchsorted(ranked, values, side=side) for side in ("left", "right"))
    placements: Values = (lower + upper) / (2 * len(others))
    return placements


def detectable_gain(gain: Estimate, questions: int, tests: int, *, counted: bool) -> float:
    """Return the smallest gain that is detected with 80 % power, estimated from the interval of a gain.

    ``tests`` is the number of tests to correct for. ``counted`` means that gains are counts of questions, so that an
    exact test needs a minimum number of them.
    """
    smallest = (_quantile(ALPHA / 2 / tests) + _quantile(1 - POWER)) * (gain.high - gain.low) / (2 * _REACH)
    return min(1.0, max(smallest, _fewest_wins(tests) / questions) if counted else smallest)


def detectable_difference(questions: int, disagreement: float) -> float | None:
    """Return the smallest difference in hit rate that McNemar's exact test detects with 80 % power; None without one.

    ``disagreement`` is the share of questions for which exactly one of two retrievers finds the passage.

    Source: R. J. Connor, Sample size for testing differences in proportions for the paired-sample design (1987), with a
    continuity correction.
    """
    if not questions:
        return None
    found = 0.0
    for _ in range(_ROUNDS):
        spread = _REACH * math.sqrt(disagreement) + _quantile(1 - POWER) * math.sqrt(max(0, disagreement - found**2))
        found = spread / math.sqrt(questions) + 1 / questions
    found = max(found, _fewest_wins(1) / questions)
    return found if found <= disagreement else None


def _fewest_wins(tests: int) -> int:
    """Return how many questions, all won by one of two retrievers, an exact test needs to be significant."""
    return math.ceil(math.log2(2 * tests / ALPHA))


def _detectable_share(before: float, few: int, many: int, tests: int) -> float:
    """Return the smallest detectable difference from the share ``before`` in either direction.

    Source: J. L. Fleiss et al., A simple approximation for calculating sample sizes for comparing independent
    proportions (1980), with the continuity correction.
    """
    gains = np.concatenate([np.linspace(0, 1, _GRID), np.linspace(0, -1, _GRID)])
    gains = gains[(before + gains >= 0) & (before + gains <= 1)]
    after = before + gains
    pooled = (few * before + many * after) / (few + many)
    level = np.sqrt(pooled * (1 - pooled) * (1 / few + 1 / many))
    power = np.sqrt(before * (1 - before) / few + after * (1 - after) / many)
    needed = (1 / few + 1 / many) / 2 + _quantile(ALPHA / 2 / tests) * level + _quantile(1 - POWER) * power
    return float(min(abs(gains[abs(gains) >= needed]), default=1.0))


def _quantile(tail: float) -> float:
    from scipy.stats import norm

    return float(norm.isf(tail))
