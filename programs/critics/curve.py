"""What thresholds do on labelled rows, as a compiled state tells it."""

from collections.abc import Sequence
from typing import Self

from pydantic import BaseModel, ConfigDict, model_validator

from programs.numbers import Count, Share

_ROUNDING = 1e-9  # that a share may lie beyond its interval by


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

    threshold: Share
    accepted: Count
    good: Count
    precision: Share
    low: Share
    high: Share
    recall: Share

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        if self.good > self.accepted:
            raise ValueError("more are good than are accepted")
        if not self.low - _ROUNDING <= self.precision <= self.high + _ROUNDING:
            raise ValueError("the precision is not within its interval")
        return self


def point_at(curve: Sequence[CurvePoint], threshold: float) -> CurvePoint | None:
    """Return what a threshold does: the point of the lowest probability that it accepts, None if there is none."""
    return next((point for point in curve if point.threshold >= threshold), None)
