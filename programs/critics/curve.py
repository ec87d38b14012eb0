"""What thresholds do on labelled rows, as a compiled state tells it."""

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict


class CurvePoint(BaseModel):
    """What a threshold does on labelled rows.

    Attributes:
        threshold: rows with at least this probability are accepted.
        accepted: how many rows that are.
        good: how many of them are good.
        precision: the share of good ones, with ``low`` and ``high`` of its 95 % interval (Wilson).
        recall: the share of all good rows that is accepted.
    """

    model_config = ConfigDict(frozen=True)

    threshold: float
    accepted: int
    good: int
    precision: float
    low: float
    high: float
    recall: float


def point_at(curve: Sequence[CurvePoint], threshold: float) -> CurvePoint | None:
    """Return what a threshold does: the point of the lowest probability that it accepts, None if there is none."""
    return next((point for point in curve if point.threshold >= threshold), None)
