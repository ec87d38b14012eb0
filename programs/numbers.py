"""Numbers within ranges: those that states and critics are made of, and those that every format can hold."""

import math
from typing import Annotated, TypeVar

from pydantic import Field

from programs.errors import CriticError

_Value = TypeVar("_Value")

MOST = 1 << 31  # of what is counted: no text, corpus or run comes near it, and every format can hold it
Count = Annotated[int, Field(ge=0, lt=MOST)]
Rank = Annotated[int, Field(ge=1, lt=MOST)]

# A fitted weight is below ten, and means are of counts in one text; deviations are rounded to six digits. So no sum of
# numbers within these limits leaves what a computer can hold.
_LARGEST_WEIGHT = 1e6
_LARGEST_MEAN = 1e9
SMALLEST_DEVIATION = 1e-6
_LARGEST = 1 << 63
_SUREST = 30.0  # log-odds beyond which a probability is that of these

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Weight = Annotated[float, Field(ge=-_LARGEST_WEIGHT, le=_LARGEST_WEIGHT, allow_inf_nan=False)]
Mean = Annotated[float, Field(ge=-_LARGEST_MEAN, le=_LARGEST_MEAN, allow_inf_nan=False)]
Deviation = Annotated[float, Field(ge=SMALLEST_DEVIATION, le=_LARGEST_MEAN, allow_inf_nan=False)]


def logistic(odds: float) -> float:
    """Return the probability of log-odds.

    Raises:
        CriticError: they are no number: what they were made of is damaged.
    """
    if math.isnan(odds):
        raise CriticError(
            "the critic's evidence is no number (NaN), so it cannot decide: the weights of the --embedder are damaged, "
            "or those of its state (--compiled)"
        )
    return 1 / (1 + math.exp(-max(-_SUREST, min(_SUREST, odds))))


def check_numbers(value: _Value) -> _Value:
    """Return a JSON value all of whose numbers are finite and fit 64 bits.

    Raises:
        ValueError: one of them is not, or does not.
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
