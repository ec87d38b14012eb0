"""Ranges of numbers in compiled states and stored files, and the logistic function."""

import math
from typing import Annotated, TypeVar

from pydantic import Field

from programs.errors import AnswerError

_Value = TypeVar("_Value")

MOST = 1 << 31  # limit of counts; far above any real one, and supported by every format
Count = Annotated[int, Field(ge=0, lt=MOST)]
Rank = Annotated[int, Field(ge=1, lt=MOST)]

# Fitted weights are below ten, means are of counts in one text, and deviations are rounded to six digits. Sums of
# numbers within these limits cannot overflow.
_LARGEST_WEIGHT = 1e6
_LARGEST_MEAN = 1e9
SMALLEST_DEVIATION = 1e-6
_LARGEST = 1 << 63
_MAX_LOG_ODDS = 30.0

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Weight = Annotated[float, Field(ge=-_LARGEST_WEIGHT, le=_LARGEST_WEIGHT, allow_inf_nan=False)]
Mean = Annotated[float, Field(ge=-_LARGEST_MEAN, le=_LARGEST_MEAN, allow_inf_nan=False)]
Deviation = Annotated[float, Field(ge=SMALLEST_DEVIATION, le=_LARGEST_MEAN, allow_inf_nan=False)]


def logistic(odds: float) -> float:
    """Return the probability of log-odds.

    Raises:
        AnswerError: they are NaN.
    """
    if math.isnan(odds):
        raise AnswerError(
            "the judge cannot decide, its evidence is not a number (NaN); check the weights of the --embedder and of "
            "its state (--compiled)"
        )
    return 1 / (1 + math.exp(-max(-_MAX_LOG_ODDS, min(_MAX_LOG_ODDS, odds))))


def check_numbers(value: _Value) -> _Value:
    """Return a JSON value unchanged if all its numbers are finite and fit 64 bits.

    Raises:
        ValueError: a number is not finite or too large.
    """
    if isinstance(value, dict):
        for each in value.values():
            check_numbers(each)
    elif isinstance(value, list | tuple):
        for each in value:
            check_numbers(each)
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError("a number is not finite")
    elif isinstance(value, int) and not -_LARGEST <= value < _LARGEST:
        raise ValueError("a number does not fit 64 bits")
    return value
