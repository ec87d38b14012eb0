"""Figures with what they rest on: shares with Wilson's interval, means with one by documents, spreads."""

from collections.abc import Sequence

import numpy as np

from groundset import stats
from groundset.progress import counted
from groundset.report.blocks import Stated
from groundset.stats import Units, Values, bootstrap_mean

UNKNOWN = "not known"


def wilson(part: int, whole: int) -> tuple[float, float]:
    """Return the bounds of Wilson's 95 % interval of a share; all there is for an empty whole."""
    found = stats.wilson(min(part, whole), whole)
    return (0.0, 1.0) if found is None else (found.low, found.high)


def percent(part: float) -> str:
    """Return a share as a reader reads it."""
    return f"{100 * part:.0f} %"


def bounds(low: float, high: float) -> str:
    """Return the bounds of a share."""
    return f"{100 * low:.0f} to {100 * high:.0f} %"


def stated_share(name: str, part: int, whole: int, noun: str, meaning: str = "") -> Stated:
    """Return the share that ``part`` is of ``whole`` things, with its interval."""
    if not whole:
        return Stated(name, UNKNOWN, counted(0, noun), "", meaning)
    told = f"{percent(part / whole)} ({part:,})"
    return Stated(name, told, counted(whole, noun), bounds(*wilson(part, whole)), meaning)


def stated_mean(name: str, values: Values, units: Units, meaning: str = "", *, as_share: bool = True) -> Stated:
    """Return the mean of values between 0 and 1, one for each question, with its interval by ``units``."""
    if not len(values):
        return Stated(name, UNKNOWN, "0 questions", "", meaning)
    found = bootstrap_mean(values, units)
    told = percent(found.value) if as_share else f"{found.value:.2f}"
    interval = bounds(found.low, found.high) if as_share else f"{found.low:.2f} to {found.high:.2f}"
    return Stated(name, told, counted(len(values), "question"), interval, meaning)


def stated_spread(name: str, values: Sequence[float] | Values, noun: str, meaning: str = "", digits: int = 0) -> Stated:
    """Return the median of values, and the quartiles that half of them lie between."""
    known = np.asarray(values, dtype=float)
    if not len(known):
        return Stated(name, UNKNOWN, counted(0, noun), "", meaning)
    low, middle, high = np.quantile(known, (0.25, 0.5, 0.75))
    told = f"{middle:.{digits}f} (half of them {low:.{digits}f} to {high:.{digits}f})"
    return Stated(name, told, counted(len(known), noun), "", meaning)
