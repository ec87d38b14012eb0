"""Weights by name, such as the mix of evolutions, and quotas by weight."""

from collections.abc import Mapping
from typing import Any


def parse_mix(value: Any) -> Any:
    """Parse weights such as ``simple=50,reasoning=25``; return anything but text unchanged.

    Raises:
        ValueError: the text has another form.
    """
    if not isinstance(value, str):
        return value
    weights: dict[str, float] = {}
    for part in value.split(","):
        name, sign, weight = (piece.strip() for piece in part.partition("="))
        if not sign:
            raise ValueError(f"{part.strip()!r} is not of the form name=weight, such as simple=2")
        if name in weights:
            raise ValueError(f"{name} is given twice")
        try:
            weights[name] = float(weight)
        except ValueError:
            raise ValueError(f"the weight of {name} is not a number: {weight!r}") from None
    return weights


def quotas(size: int, mix: Mapping[str, float]) -> dict[str, int]:
    """Distribute ``size`` samples by the weights of ``mix``, with the largest remainder method."""
    total = sum(mix.values())
    exact = {name: size * weight / total for name, weight in mix.items()}
    shares = {name: int(share) for name, share in exact.items()}
    by_remainder = sorted(mix, key=lambda name: shares[name] - exact[name])
    for name in by_remainder[: size - sum(shares.values())]:
        shares[name] += 1
    return shares
