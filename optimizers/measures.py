"""Measures of decisions and scores against labels, with intervals, from 0 to 1 (best)."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from programs.errors import PromotionError

Flags = Sequence[bool]
Scores = Sequence[float]
Measure = Callable[[npt.NDArray[np.bool_], npt.NDArray[np.float64]], float]
_DRAWS = 1000
_FEWEST_ROWS = 3  # to estimate the deviation of differences
_FEWEST_DOCUMENTS = 5  # to compare with a champion; fewer may all gain by chance


class Interval(NamedTuple):
    """An estimate with the bounds of its 95 % confidence interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        """Format the estimate and its bounds with two digits."""
        value, low, high = (round(part, 2) + 0.0 for part in self)  # avoids -0.00
        return f"{value:.2f} ({low:.2f}{' to ' if low < 0 else '-'}{high:.2f})"


def recorded(measures: Mapping[str, Mapping[str, Interval]]) -> dict[str, dict[str, list[float]]]:
    """Convert measures for the record of a state, with four digits."""
    return {
        key: {name: [round(part, 4) for part in figure] for name, figure in figures.items()}
        for key, figures in measures.items()
    }


def area_under_roc(good: npt.NDArray[np.bool_], probability: npt.NDArray[np.float64]) -> float:
    """Return the probability that a good row scores higher than a bad one (ties count half).

    Computed from ranks, because input validation makes the functions of scikit-learn too slow for a bootstrap.

    Source: H. B. Mann and D. R. Whitney, On a test of whether one of two random variables is stochastically larger
    than the other (1947).
    """
    from scipy.stats import rankdata

    goods = np.count_nonzero(good)
    above = rankdata(probability)[good].sum() - goods * (goods + 1) / 2
    return float(above / (goods * (len(good) - goods)))


def average_precision(good: npt.NDArray[np.bool_], probability: npt.NDArray[np.float64]) -> float:
    """Return the mean precision over the recall steps; a constant score gives the share of good rows."""
    order = np.argsort(-probability, kind="stable")
    steps = np.append(np.flatnonzero(np.diff(probability[order])), len(order) - 1)
    passed = np.cumsum(good[order])[steps]
    return float(np.sum(np.diff(passed, prepend=0) * passed / (steps + 1)) / passed[-1])


def bootstrap(measure: Measure, good: Flags, probability: Scores, units: Sequence[str] | None = None) -> Interval:
    """Return a measure with its percentile bootstrap interval.

    With ``units``, the documents of the rows, whole documents are resampled, else good and bad rows separately.

    Raises:
        ValueError: all rows are good, or all are bad.
    """
    flags, scores = np.asarray(good, dtype=bool), np.asarray(probability, dtype=float)
    if flags.all() or not flags.any():
        raise ValueError("a measure of decisions needs good and bad rows")
    return _bootstrapped(lambda rows: measure(flags[rows], scores[rows]), flags, units)


def paired_gain(
    measure: Measure, good: Flags, before: Scores, after: Scores, units: Sequence[str] | None = None
) -> Interval:
    """Return the difference of a measure between ``after`` and ``before``, from -1 to 1, with its paired interval.

    Both are measured on the same resamples. ``units``: see :func:`bootstrap`.
    """
    flags = np.asarray(good, dtype=bool)
    old, new = np.asarray(before, dtype=float), np.asarray(after, dtype=float)
    return _bootstrapped(lambda rows: measure(flags[rows], new[rows]) - measure(flags[rows], old[rows]), flags, units)


def _bootstrapped(
    statistic: Callable[[npt.NDArray[np.intp]], float], flags: npt.NDArray[np.bool_], units: Sequence[str] | None
) -> Interval:
    drawn = _draws(flags) if units is None else _document_draws(flags, units)
    return _interval(statistic(np.arange(len(flags))), [statistic(rows) for rows in drawn])


def _interval(value: float, drawn: Scores | npt.NDArray[np.float64]) -> Interval:
    low, high = np.quantile(drawn, [0.025, 0.975])
    return Interval(float(value), float(low), float(high))


def mean(values: Scores, units: Sequence[str] | None = None) -> Interval:
    """Return the mean of scores with its percentile bootstrap interval.

    With ``units``, the documents of the rows, whole documents are resampled, because rows of one document are similar.
    If there is only one document, rows are resampled.

    Raises:
        ValueError: there are no scores.
    """
    scores = np.asarray(values, dtype=float)
    if not len(scores):
        raise ValueError("a mean needs scores")
    numbers = _document_numbers(units, len(scores))
    sums, counts = np.bincount(numbers, weights=scores), np.bincount(numbers)
    drawn = np.random.default_rng(0).integers(0, len(sums), (_DRAWS, len(sums)))
    return _interval(scores.mean(), sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1))


def mean_gain(before: Scores, after: Scores, units: Sequence[str] | None = None) -> Interval:
    """Return the difference of the means of ``after`` and ``before``, from -1 to 1, with its paired interval.

    ``units``: see :func:`mean`.
    """
    return mean([new - old for old, new in zip(before, after, strict=True)], units)


def certain_gain(before: Scores, after: Scores, units: Sequence[str], best_of: int = 1) -> Interval:
    """Return the gain of :func:`mean_gain` with an interval for decisions.

    With few documents bootstrap intervals are too narrow, so this is Student's interval of a ratio over documents. If
    ``after`` is the best of several on these rows, ``best_of`` is their number for Bonferroni's correction.

    Source: W. G. Cochran, Sampling Techniques (1977), 6.4, the variance of a ratio.

    Raises:
        ValueError: there is only one document.
    """
    from scipy.stats import t

    documents = len(set(units))
    if documents < 2:
        raise ValueError("at least two documents are needed")
    gains = np.asarray(after, dtype=float) - np.asarray(before, dtype=float)
    numbers = _document_numbers(units, len(gains))
    sums, counts = np.bincount(numbers, weights=gains), np.bincount(numbers)
    value = float(gains.mean())
    error = np.sqrt(documents / (documents - 1) * np.sum((sums - value * counts) ** 2)) / len(gains)
    reach = float(t.ppf(1 - 0.025 / best_of, documents - 1) * error)
    return Interval(value, value - reach, value + reach)


def share(count: int, total: int) -> Interval:
    """Return a share with its Wilson interval, 0 to 1 without any rows.

    Source: E. B. Wilson, Probable inference, the law of succession, and statistical inference (1927).
    """
    return Interval(count / total, *_wilson(count, total, "two-sided")) if total else Interval(0.0, 0.0, 1.0)


def lower_bound(count: int, total: int) -> float:
    """Return the one-sided lower 95 % Wilson bound of a share, 0 without any rows."""
    return _wilson(count, total, "greater")[0] if total else 0.0


def _wilson(count: int, total: int, alternative: str) -> tuple[float, float]:
    from scipy.stats import binomtest

    bounds = binomtest(count, total, alternative=alternative).proportion_ci(0.95, method="wilson")
    return float(bounds.low), float(bounds.high)


def detectable_gain(deviation: float, rows: int) -> float:
    """Return the minimum detectable gain of a mean: 80 % power of a paired, two-sided test at 5 %.

    ``deviation`` is the standard deviation of the paired differences. The test assumes independent rows; with few
    documents the detectable gain is larger.

    Source: J. Cohen, Statistical power analysis for the behavioral sciences (1988), in the normal approximation.
    """
    from scipy.stats import norm

    return float((norm.ppf(0.975) + norm.ppf(0.8)) * deviation / math.sqrt(rows))


def paired_deviation(before: Scores, others: Sequence[Scores]) -> float | None:
    """Return the standard deviation of paired differences, pooled over candidates.

    None without candidates or with fewer than three rows.
    """
    if not others or len(before) < _FEWEST_ROWS:
        return None
    return float(np.sqrt(np.mean(np.var(np.asarray(others) - np.asarray(before), axis=1, ddof=1))))


class Score(NamedTuple):
    """The score of a row, with its document."""

    value: float
    document: str


def gains_over(
    old: Mapping[tuple[str, str], Score], new: Mapping[tuple[str, str], Score], tried: int
) -> dict[str, Interval]:
    """Return the gains of a compile over another on their common dev and test rows; empty without common dev rows.

    The interval on dev rows is corrected for choosing the best of ``tried`` candidates there. The gain on test rows
    is only reported.

    Args:
        old, new: the scores by split and id.
        tried: how many candidates were compared on dev rows.

    Raises:
        PromotionError: the dev rows are from too few documents, or the gain on them is not significant.
    """

    def common(split: str) -> tuple[list[float], list[float], list[str]]:
        keys = sorted(key for key in old.keys() & new.keys() if key[0] == split)
        return [old[key].value for key in keys], [new[key].value for key in keys], [new[key].document for key in keys]

    dev, test = common("dev"), common("test")
    if not dev[0]:
        return {}
    if (documents := len(set(dev[2]))) < _FEWEST_DOCUMENTS:
        raise PromotionError(
            f"the {len(dev[0])} common dev rows are from too few documents ({documents}, at least {_FEWEST_DOCUMENTS} "
            "are needed); compile again with the labels and --seed of the champion, or with more labels"
        )
    gain = certain_gain(*dev, tried)
    if not gain.low > 0:
        corrected = f", corrected for the best of {tried} candidates" if tried > 1 else ""
        raise PromotionError(f"the gain on dev rows is not significant: {gain}{corrected}")
    return {"dev": gain} | ({"test": mean_gain(*test)} if test[0] else {})


def _document_numbers(units: Sequence[str] | None, count: int) -> npt.NDArray[np.intp]:
    """Return the document number of each row, or the row number if there are fewer than two documents."""
    if units is None or len(set(units)) < 2:
        return np.arange(count)
    numbers = {unit: number for number, unit in enumerate(dict.fromkeys(units))}
    return np.array([numbers[unit] for unit in units], dtype=np.intp)


def _document_draws(flags: npt.NDArray[np.bool_], units: Sequence[str]) -> list[npt.NDArray[np.intp]]:
    """Resample documents so that each draw has good and bad rows; resample rows if too few draws do."""
    random, numbers = np.random.default_rng(0), _document_numbers(units, len(flags))
    rows = [np.flatnonzero(numbers == number) for number in range(numbers.max() + 1)]
    draws = []
    for _ in range(2 * _DRAWS):
        drawn = np.concatenate([rows[number] for number in random.integers(0, len(rows), len(rows))])
        if flags[drawn].any() and not flags[drawn].all():
            draws.append(drawn)
        if len(draws) == _DRAWS:
            return draws
    return _draws(flags)


def _draws(flags: npt.NDArray[np.bool_]) -> list[npt.NDArray[np.intp]]:
    random = np.random.default_rng(0)
    good, bad = np.flatnonzero(flags), np.flatnonzero(~flags)
    return [np.concatenate([random.choice(good, len(good)), random.choice(bad, len(bad))]) for _ in range(_DRAWS)]
