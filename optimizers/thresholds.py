"""Thresholds that carry a promise: the precision that labels support, and what it costs in recall."""

from collections.abc import Sequence

from optimizers.measures import lower_bound, share
from programs.critics.curve import CurvePoint
from programs.errors import PromiseError

FEWEST_ACCEPTED = 10


def precision_curve(good: Sequence[bool], probability: Sequence[float]) -> list[CurvePoint]:
    """Return one point for each distinct probability, the lowest threshold first.

    A threshold lies halfway to the next lower probability, so that a row much like the last accepted one falls on
    its side.
    """
    rows = sorted(zip(probability, good, strict=True), key=lambda row: -row[0])
    total = sum(good)
    points: list[CurvePoint] = []
    passed = 0
    for place, (value, is_good) in enumerate(rows, 1):
        passed += is_good
        below = rows[place][0] if place < len(rows) else 0.0
        if place < len(rows) and below == value:
            continue
        points.append(_point(round((value + below) / 2, 6), passed, place, total))
    return points[::-1]


def point_of(threshold: float, rows: Sequence[tuple[bool, float]]) -> CurvePoint:
    """Return what a threshold does on rows: whether each is good, and its probability."""
    accepted = [is_good for is_good, probability in rows if probability >= threshold]
    return _point(threshold, sum(accepted), len(accepted), sum(is_good for is_good, _ in rows))


def _point(threshold: float, good: int, accepted: int, total: int) -> CurvePoint:
    precision = share(good, accepted)
    return CurvePoint(
        threshold=threshold,
        accepted=accepted,
        good=good,
        precision=precision.value,
        low=precision.low,
        high=precision.high,
        recall=good / total if total else 0.0,
    )


def lowest_threshold(curve: Sequence[CurvePoint], target: float) -> CurvePoint:
    """Return the lowest threshold whose precision is at least ``target`` with 95 % confidence (one-sided).

    Raises:
        PromiseError: no threshold that accepts ten rows or more reaches it; the message names the best bound.
    """
    bounds = [(lower_bound(point.good, point.accepted), point) for point in curve if point.accepted >= FEWEST_ACCEPTED]
    kept = [point for bound, point in bounds if bound >= target]
    if kept:
        return kept[0]
    best = max((bound for bound, _ in bounds), default=0.0)
    rows = curve[0].accepted if curve else 0
    raise PromiseError(
        f"--target-precision {target:g}: {rows} labelled rows support no more than {best:.2f}; "
        "ask for less or add labels (--labels)."
    )
