"""Numbers that every format can hold: finite ones, and whole ones of 64 bits."""

import math
from typing import TypeVar

_Value = TypeVar("_Value")
_LARGEST = 1 << 63


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
