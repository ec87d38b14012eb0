"""Estimates with 95 % intervals, significance tests, multiple-test corrections, and minimum detectable effects.

Built on scipy and scikit-learn; this module adds edge cases (no data, no variance) and procedures that they lack.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
Units = NDArray[np.intp]

ALPHA = 0.05
POWER = 0.8
_SEED = 0
_RESAMPLES = 5000
_PERMUTATIONS = 9999
_FEWEST_DOCUMENTS = 10
_FEWEST_VALUES = 2  # of a run, to estimate a variance
_GRID = 1001  # gains to test; finer than the displayed digits
_NEGLIGIBLE = 1e-7  # tail probability of ignored numbers of disagreements
_BISECTIONS = 14  # more precise than the displayed digits


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
    minimum detectable effect for a number of tests, at most the largest possible gain.
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
    names = list(dict.fromkeys(documents))
    if _FEWEST_DOCUMENTS <= len(names) < len(documents):
        return np.array([names.index(name) for name in documents], dtype=np.intp), True
    return np.arange(len(documents)), False


def bootstrap_mean(values: Values, units: Units, *, lowest: float = 0.0) -> Estimate:
    """Estimate a mean of values between ``lowest`` and 1 with its percentile bootstrap interval.

    If all values are equal, the interval is as wide as Wilson's for as many equal outcomes. If all units have the same
    mean, values are resampled instead.
    """
    from scipy.stats import binomtest, bootstrap

    value = float(values.mean())
    if np.ptp(values) == 0:
        width = float(binomtest(0, len(values)).proportion_ci(method="wilson").high)
        return Estimate(value, max(lowest, value - width), min(1.0, value + width))
    if np.allclose(np.bincount(units, weights=values), value * np.bincount(units)):
        units = np.arange(len(values))
    sums, counts = np.bincount(units, weights=values), np.bincount(units).astype(float)

    def ratio(drawn_sums: Any, drawn_counts: Any, axis: int) -> Any:
        return drawn_sums.sum(axis=axis) / drawn_counts.sum(axis=axis)

    options: dict[str, Any] = {"n_resamples": _RESAMPLES, "batch": 500, "method": "percentile", "rng": _SEED}
    interval = bootstrap((sums, counts), ratio, paired=True, vectorized=True, **options).confidence_interval
    return Estimate(value, float(interval.low), float(interval.high))


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

    def gain(one: Any, other: Any, axis: int) -> Any:
        return (other - one).sum(axis=axis)

    options: dict[str, Any] = {"n_resamples": _PERMUTATIONS, "batch": 500, "rng": _SEED}
    return float(permutation_test(sums, gain, permutation_type="samples", vectorized=True, **options).pvalue)


def fisher(before: Values, after: Values) -> float:
    """Return the p-value of Fisher's exact test of two shares; values are 0 or 1."""
    from scipy.stats import fisher_exact

    return float(fisher_exact([[values.sum(), len(values) - values.sum()] for values in (after, before)]).pvalue)


def holm(pvalues: Sequence[float]) -> list[float]:
    """Correct p-values for multiple tests by Holm's method.

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


def kappa(first: Sequence[str], second: Sequence[str]) -> float | None:
    """Return Cohen's kappa of two reviewers; None if one of them gives only one verdict."""
    if len(set(first)) == 1 or len(set(second)) == 1:
        return None
    from sklearn.metrics import cohen_kappa_score

    return float(cohen_kappa_score(first, second))


def contrast_shares(before: Values, after: Values) -> Contrast | None:
    """Compare two shares by Fisher's exact test; values are 0 or 1. None if a run has no values.

    Source: R. G. Newcombe, Interval estimation for the difference between independent proportions (1998), method 10.
    """
    old, new = (wilson(int(values.sum()), len(values)) for values in (before, after))
    if old is None or new is None:
        return None
    gain = new.value - old.value
    return Contrast(
        gain,
        gain - math.hypot(new.value - new.low, old.high - old.value),
        gain + math.hypot(new.high - new.value, old.value - old.low),
        fisher(before, after),
        partial(_detectable_share, old.value, len(before), len(after)),
    )


def contrast_values(before: Values, after: Values) -> Contrast | None:
    """Compare two sets of values by the Mann-Whitney test. None if a run has fewer than two.

    Source: E. R. DeLong et al., Comparing the areas under two or more correlated ROC curves (1988), for the interval.
    """
    from scipy.stats import mannwhitneyu

    few, many = len(before), len(after)
    if min(few, many) < _FEWEST_VALUES:
        return None
    above, below = _placements(after, before), 1 - _placements(before, after)
    gain = float(above.mean()) - 0.5
    null_error = math.sqrt((few + many + 1) / (12 * few * many))
    error = math.sqrt(above.var(ddof=1) / many + below.var(ddof=1) / few) or null_error
    reach = _quantile(ALPHA / 2) * error
    p = float(mannwhitneyu(after, before).pvalue) if np.ptp(np.concatenate([before, after])) else 1.0
    return Contrast(gain, max(-0.5, gain - reach), min(0.5, gain + reach), p, partial(_detectable_pairs, null_error))


def detectable_gain(gain: Estimate, questions: int, tests: int, *, counted: bool) -> float:
    """Return the minimum detectable gain at 80 % power, estimated from the interval of a gain.

    ``tests`` is the number of tests to correct for. ``counted`` means that gains are counts of questions, so an exact
    test needs a minimum number of them.
    """
    threshold = _quantile(ALPHA / 2 / tests) + _quantile(1 - POWER)
    smallest = threshold * (gain.high - gain.low) / (2 * _quantile(ALPHA / 2))
    if counted:
        smallest = max(smallest, math.ceil(math.log2(2 * tests / ALPHA)) / questions)
    return min(1.0, smallest)


def mcnemar_power(questions: int, disagreement: float) -> Callable[[float], float]:
    """Return a function from a difference in hit rate to the power of McNemar's exact test, two-sided at 5 %.

    ``disagreement`` is the share of questions for which exactly one of two retrievers finds the passage. Questions are
    assumed independent.

    Source: Q. McNemar, Note on the sampling error of the difference between correlated proportions (1947), exact.
    """
    from scipy.stats import binom

    low, high = (int(binom.ppf(tail, questions, disagreement)) for tail in (_NEGLIGIBLE, 1 - _NEGLIGIBLE))
    counts = np.arange(low, high + 1)
    # The most wins of the worse retriever that are significant, by number of disagreements; -1 if none are.
    most = binom.ppf(ALPHA / 2, counts, 0.5)
    most = np.where(binom.cdf(most, counts, 0.5) <= ALPHA / 2, most, most - 1)
    counts, most = counts[most >= 0], most[most >= 0]
    chances = binom.pmf(counts, questions, disagreement)

    def power(difference: float) -> float:
        wins = (disagreement + difference) / (2 * disagreement)
        return float(np.sum(chances * (binom.cdf(most, counts, wins) + binom.cdf(most, counts, 1 - wins))))

    return power


def detectable_difference(questions: int, disagreement: float) -> float | None:
    """Return the minimum detectable difference in hit rate at 80 % power, None if even ``disagreement`` is not."""
    if questions < 1 or (power := mcnemar_power(questions, disagreement))(disagreement) < POWER:
        return None
    low, high = 0.0, disagreement
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if power(middle) < POWER else (low, middle)
    return high


def questions_needed(difference: float, disagreement: float) -> int | None:
    """Return how many questions detect a difference with 80 % power; None if it is larger than ``disagreement``.

    The search starts at the sample size of an approximate test, which is smaller.

    Source: R. J. Connor, Sample size for testing differences in proportions for the paired-sample design (1987).
    """
    if difference > disagreement:
        return None
    error = _quantile(ALPHA / 2) * np.sqrt(disagreement)
    error += _quantile(1 - POWER) * np.sqrt(disagreement - difference**2)
    start = int(np.ceil((error / difference) ** 2))
    return next(size for size in count(start) if mcnemar_power(size, disagreement)(difference) >= POWER)


def _detectable_share(before: float, few: int, many: int, tests: int) -> float:
    """Return the minimum detectable difference from the share ``before`` in either direction.

    Source: J. L. Fleiss et al., A simple approximation for calculating sample sizes for comparing independent
    proportions (1980), with the continuity correction.
    """
    gains = np.linspace(0, 1, _GRID)
    detected = [1.0]
    for after in (before + gains, before - gains):
        possible = (after >= 0) & (after <= 1)
        share = after[possible]
        pooled = (few * before + many * share) / (few + many)
        level = np.sqrt(pooled * (1 - pooled) * (1 / few + 1 / many))
        power = np.sqrt(before * (1 - before) / few + share * (1 - share) / many)
        needed = (1 / few + 1 / many) / 2 + _quantile(ALPHA / 2 / tests) * level + _quantile(1 - POWER) * power
        detected += gains[possible][gains[possible] >= needed][:1].tolist()
    return min(detected)


def _detectable_pairs(error: float, tests: int) -> float:
    return min(0.5, (_quantile(ALPHA / 2 / tests) + _quantile(1 - POWER)) * error)


def _quantile(tail: float) -> float:
    from scipy.stats import norm

    return float(norm.isf(tail))


def _placements(values: Values, others: Values) -> Values:
    """Return for each value the share of the others that are lower; equal ones count half."""
    ranked = np.sort(others)
    lower, upper = (np.searchsorted(ranked, values, side=side) for side in ("left", "right"))
    placements: Values = (lower + upper) / (2 * len(others))
    return placements
