"""Measures against labels, with intervals, and which gains are beyond noise. Higher is better; all lie in 0 to 1."""

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
_FEWEST_ROWS = 3  # of which differences say anything of their spread
_FEWEST_DOCUMENTS = 5  # that a champion must have been measured on: of fewer all may gain by luck


class Interval(NamedTuple):
    """A figure with the bounds of its 95 % confidence interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        """Return the figure with its bounds, two digits each."""
        value, low, high = (round(part, 2) + 0.0 for part in self)  # no minus before a zero
        return f"{value:.2f} ({low:.2f}{' to ' if low < 0 else '-'}{high:.2f})"


def recorded(measures: Mapping[str, Mapping[str, Interval]]) -> dict[str, dict[str, list[float]]]:
    """Return measures as a state's record keeps them: figures and bounds with four digits."""
    return {
        key: {name: [round(part, 4) for part in figure] for name, figure in found.items()}
        for key, found in measures.items()
    }


def area_under_roc(good: npt.NDArray[np.bool_], probability: npt.NDArray[np.float64]) -> float:
    """Return the probability that a good row gets more than a bad one (ties count half).

    Worked out from ranks, which a thousand draws can afford; the metrics of scikit-learn check their input for longer
    than they count.

    Source: H. B. Mann and D. R. Whitney, On a test of whether one of two random variables is stochastically larger
    than the other (1947).
    """
    from scipy.stats import rankdata

    goods = np.count_nonzero(good)
    above = rankdata(probability)[good].sum() - goods * (goods + 1) / 2
    return float(above / (goods * (len(good) - goods)))


def average_precision(good: npt.NDArray[np.bool_], probability: npt.NDArray[np.float64]) -> float:
    """Return the mean precision over the recall steps, rows of one probability being one step.

    A constant guess reaches the share of good rows.
    """
    order = np.argsort(-probability, kind="stable")
    steps = np.append(np.flatnonzero(np.diff(probability[order])), len(order) - 1)
    passed = np.cumsum(good[order])[steps]
    return float(np.sum(np.diff(passed, prepend=0) * passed / (steps + 1)) / passed[-1])


def bootstrap(measure: Measure, good: Flags, probability: Scores, units: Sequence[str] | None = None) -> Interval:
    """Return a measure with its percentile bootstrap interval.

    With ``units``, the documents of the rows, whole documents are drawn; else good and bad rows are, apart.

    Raises:
        ValueError: if all rows are good, or all are bad.
    """
    flags, scores = np.asarray(good, dtype=bool), np.asarray(probability, dtype=float)
    if flags.all() or not flags.any():
        raise ValueError("a measure of decisions needs good and bad rows")
    return _bootstrapped(lambda rows: measure(flags[rows], scores[rows]), flags, units)


def paired_gain(
    measure: Measure, good: Flags, before: Scores, after: Scores, units: Sequence[str] | None = None
) -> Interval:
    """Return by how much ``after`` beats ``before`` on the same rows, with its paired bootstrap interval.

    Both are measured on the same draws, so what makes rows easy or hard cancels out. Here the value may lie
    between -1 and 1. ``units``: see :func:`bootstrap`.
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

    With ``units``, the documents of the rows, whole documents are drawn, because rows of one are alike; if all rows
    are of one document, rows are.

    Raises:
        ValueError: if there are none.
    """
    scores = np.asarray(values, dtype=float)
    if not len(scores):
        raise ValueError("a mean needs scores")
    places = _places(units, len(scores))
    sums, counts = np.bincount(places, weights=scores), np.bincount(places)
    drawn = np.random.default_rng(0).integers(0, len(sums), (_DRAWS, len(sums)))
    return _interval(scores.mean(), sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1))


def mean_gain(before: Scores, after: Scores, units: Sequence[str] | None = None) -> Interval:
    """Return by how much the mean of ``after`` beats ``before`` on the same rows, with its paired bootstrap interval.

    Here the value may lie between -1 and 1. ``units``: see :func:`mean`.
    """
    return mean([new - old for old, new in zip(before, after, strict=True)], units)


def certain_gain(before: Scores, after: Scores, units: Sequence[str], best_of: int = 1) -> Interval:
    """Return the gain of :func:`mean_gain` with an interval that something can be decided by.

    Drawing few documents again shows too little of their spread, so this is Student's interval of a ratio over
    documents. For what was chosen on these rows as the ``best_of`` several it is at 5 % divided by their number
    (Bonferroni's correction).

    Source: W. G. Cochran, Sampling Techniques (1977), 6.4, the variance of a ratio.

    Raises:
        ValueError: the rows are of one document.
    """
    from scipy.stats import t

    documents = len(set(units))
    if documents < 2:
        raise ValueError("what documents have in common cannot be told from one")
    gains = np.asarray(after, dtype=float) - np.asarray(before, dtype=float)
    places = _places(units, len(gains))
    sums, counts = np.bincount(places, weights=gains), np.bincount(places)
    value = float(gains.mean())
    error = np.sqrt(documents / (documents - 1) * np.sum((sums - value * counts) ** 2)) / len(gains)
    reach = float(t.ppf(1 - 0.025 / best_of, documents - 1) * error)
    return Interval(value, value - reach, value + reach)


def share(count: int, total: int) -> Interval:
    """Return a share with its Wilson interval.

    Source: E. B. Wilson, Probable inference, the law of succession, and statistical inference (1927).
    """
    return Interval(count / total, *_wilson(count, total, "two-sided")) if total else Interval(0.0, 0.0, 1.0)


def lower_bound(count: int, total: int) -> float:
    """Return the one-sided lower 95 % Wilson bound of a share; 0 for none of none."""
    return _wilson(count, total, "greater")[0] if total else 0.0


def _wilson(count: int, total: int, alternative: str) -> tuple[float, float]:
    from scipy.stats import binomtest

    bounds = binomtest(count, total, alternative=alternative).proportion_ci(0.95, method="wilson")
    return float(bounds.low), float(bounds.high)


def detectable_gain(deviation: float, rows: int) -> float:
    """Return the smallest true gain of a mean that is found with 80 % power by a paired, two-sided test at 5 %.

    ``deviation`` is the standard deviation of the paired differences of rows. Rows of one document are alike, so what
    few documents can tell from noise is a little more than this.

    Source: J. Cohen, Statistical power analysis for the behavioral sciences (1988), in the normal approximation.
    """
    from scipy.stats import norm

    return float((norm.ppf(0.975) + norm.ppf(0.8)) * deviation / math.sqrt(rows))


def paired_deviation(before: Scores, others: Sequence[Scores]) -> float | None:
    """Return the standard deviation of paired differences on the same rows, over several candidates (root mean square).

    None without candidates or with fewer than three rows.
    """
    if not others or len(before) < _FEWEST_ROWS:
        return None
    return float(np.sqrt(np.mean(np.var(np.asarray(others) - np.asarray(before), axis=1, ddof=1))))


class Score(NamedTuple):
    """What a row was worth, with the document that it comes from."""

    value: float
    document: str


def gains_over(
    old: Mapping[tuple[str, str], Score], new: Mapping[tuple[str, str], Score], tried: int
) -> dict[str, Interval]:
    """Return the gain of a compile on the dev rows, and on the test rows, that two were measured on.

    Test rows decide nothing, so theirs is only reported. That on dev rows can be decided by: the best of ``tried``
    candidates on them is lucky too, so its interval is as much wider. Nothing if they have no dev row in common.

    Args:
        old, new: the scores by split and id.
        tried: how many candidates were compared on dev rows.

    Raises:
        PromotionError: the dev rows are of too few documents, or the gain on them is within noise.
    """

    def common(split: str) -> tuple[list[float], list[float], list[str]]:
        keys = sorted(key for key in old.keys() & new.keys() if key[0] == split)
        return [old[key].value for key in keys], [new[key].value for key in keys], [new[key].document for key in keys]

    dev, test = common("dev"), common("test")
    if not dev[0]:
        return {}
    if (documents := len(set(dev[2]))) < _FEWEST_DOCUMENTS:
        raise PromotionError(
            f"the dev rows to compare it on, {len(dev[0])}, are of too few documents ({documents} of "
            f"{_FEWEST_DOCUMENTS}); compile again with the labels and --seed of the champion, or with more labels"
        )
    gain = certain_gain(*dev, tried)
    if not gain.low > 0:
        best = f", the best of {tried} candidates on them," if tried > 1 else ","
        raise PromotionError(f"the gain on dev rows, {gain}{best} is within noise")
    return {"dev": gain} | ({"test": mean_gain(*test)} if test[0] else {})


def _places(units: Sequence[str] | None, count: int) -> npt.NDArray[np.intp]:
    """Return for each row the number of its document; its own number where documents say nothing."""
    if units is None or len(set(units)) < 2:
        return np.arange(count)
    numbers = {unit: number for number, unit in enumerate(dict.fromkeys(units))}
    return np.array([numbers[unit] for unit in units], dtype=np.intp)


def _document_draws(flags: npt.NDArray[np.bool_], units: Sequence[str]) -> list[npt.NDArray[np.intp]]:
    """Draw documents until so many draws hold good and bad rows; rows, where too few documents do."""
    random, places = np.random.default_rng(0), _places(units, len(flags))
    rows = [np.flatnonzero(places == number) for number in range(places.max() + 1)]
    found = []
    for _ in range(2 * _DRAWS):
        drawn = np.concatenate([rows[number] for number in random.integers(0, len(rows), len(rows))])
        if flags[drawn].any() and not flags[drawn].all():
            found.append(drawn)
        if len(found) == _DRAWS:
            return found
    return _draws(flags)


def _draws(flags: npt.NDArray[np.bool_]) -> list[npt.NDArray[np.intp]]:
    random = np.random.default_rng(0)
    good, bad = np.flatnonzero(flags), np.flatnonzero(~flags)
    return [np.concatenate([random.choice(good, len(good)), random.choice(bad, len(bad))]) for _ in range(_DRAWS)]
