"""Ids that are not taken yet."""

import itertools
from collections.abc import Collection


def unused(name: str, taken: Collection[str]) -> str:
    """Return an id, with a number after it if it is taken."""
    numbered = (f"{name}-{number}" for number in itertools.count(2))
    return next(candidate for candidate in itertools.chain([name], numbered) if candidate not in taken)
