"""Figures over questions: means with 95 % intervals, paired tests and what a test could have seen."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
Units = NDArray[np.intp]

ALPHA = 0.05
_POWER = 0.8
_DRAWS = 5000
_FLIPS = 9999
_SEED = 0
_FEWEST_DOCUMENTS = 10


class Figure(NamedTuple):
    """A mean or a share with the bounds of its 95 % interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        """Return the mean and its bounds, two digits each."""
        value, low, high = (f"{round(part, 2) + 0.0:.2f}" for part in self)  # no minus before a zero
        return f"{value} ({low} to {high})"


def units_of(documents: Sequence[str]) -> tuple[Units, bool]:
    """Return what is drawn together for an interval, a number for each question, and whether these are documents.

    Questions about one document are easy or hard together, so whole documents are drawn, if there are ten or more. With
    fewer the questions themselves are: so few draws of documents would say little, and the interval is for these
    documents only.
    """
    names = list(dict.fromkeys(documents))
    if _FEWEST_DOCUMENTS <= len(names) < len(documents):
        return np.array([names.index(name) for name in documents], dtype=np.intp), True
    return np.arange(len(documents)), False


def share_of(part: int, whole: int) -> Figure | None:
    """Return a share with Wilson's interval; None of nothing."""
    from scipy.stats import binomtest

    if not whole:
        return None
    bounds = binomtest(part, whole).proportion_ci(method="wilson")
    return Figure(part / whole, float(bounds.low), float(bounds.high))


def mean(values: Values, units: Units, *, lowest: float = 0.0) -> Figure:
    """Return a mean of values between ``lowest`` and 1 with its percentile bootstrap interval.

    Where all values are the same, drawing again shows nothing; the interval is then as wide as Wilson's for that many
    equal outcomes. Where all units have the same mean, values are drawn instead.
    """
    from scipy.stats import binomtest, bootstrap

    value = float(values.mean())
    if np.ptp(values) == 0:
        width = float(binomtest(0, len(values)).proportion_ci(method="wilson").high)
        return Figure(value, max(lowest, value - width), min(1.0, value + width))
    if np.allclose(np.bincount(units, weights=values), value * np.bincount(units)):
        units = np.arange(len(values))
    sums, counts = np.bincount(units, weights=values), np.bincount(units).astype(float)

    def ratio(drawn_sums: Any, drawn_counts: Any, axis: int) -> Any:
        return drawn_sums.sum(axis=axis) / drawn_counts.sum(axis=axis)

    drawn = bootstrap(
        (sums, counts),
        ratio,
        paired=True,
        vectorized=True,
        n_resamples=_DRAWS,
        batch=500,
        method="percentile",
        rng=_SEED,
    ).confidence_interval
    return Figure(value, float(drawn.low), float(drawn.high))


def mcnemar(gains: Values) -> float:
    """Return the exact p of McNemar's test for gains of -1, 0 and 1, one for each question."""
    from scipy.stats import binomtest

    won, lost = int((gains > 0).sum()), int((gains < 0).sum())
    return float(binomtest(won, won + lost).pvalue) if won + lost else 1.0


def permutation(before: Values, after: Values, units: Units) -> float:
    """Return the p of a paired permutation test: the two values of each unit are swapped at random."""
    from scipy.stats import permutation_test

    if np.array_equal(before, after):
        return 1.0
    old, new = np.bincount(units, weights=before), np.bincount(units, weights=after)

    def gain(one: Any, other: Any, axis: int) -> Any:
        return (other - one).sum(axis=axis)

    return float(
        permutation_test(
            (old, new), gain, permutation_type="samples", vectorized=True, n_resamples=_FLIPS, batch=500, rng=_SEED
        ).pvalue
    )


def holm(pvalues: Sequence[float]) -> list[float]:
    """Return p values corrected for how many there are.

    Source: S. Holm, A simple sequentially rejective multiple test procedure (1979).
    """
    corrected = [0.0] * len(pvalues)
    highest = 0.0
    for rank, place in enumerate(sorted(range(len(pvalues)), key=lambda place: pvalues[place])):
        highest = max(highest, min(1.0, (len(pvalues) - rank) * pvalues[place]))
        corrected[place] = highest
    return corrected


def told_p(p: float) -> str:
    """Return a probability as a reader reads it."""
    return "p<0.001" if p < 0.001 else f"p={p:.2g}"


def detectable(gain: Figure, questions: int, tests: int, *, counted: bool) -> float:
    """Return the smallest true gain that would be told apart four times in five, judged by a gain's interval.

    ``tests`` is how many tests are corrected for; ``counted`` says that gains are of whole questions, of which an exact
    test needs a few before it can tell anything.
    """
    from scipy.stats import norm

    hurdle = norm.isf(ALPHA / 2 / tests) + norm.isf(1 - _POWER)
    smallest = float(hurdle * (gain.high - gain.low) / (2 * norm.isf(ALPHA / 2)))
    if counted:
        smallest = max(smallest, math.ceil(math.log2(2 * tests / ALPHA)) / questions)
    return min(1.0, smallest)
