"""Precision and recall of thresholds, as stored in compiled states."""

from collections.abc import Sequence
from typing import Self

from pydantic import BaseModel, ConfigDict, model_validator

from programs.numbers import Count, Share

_TOLERANCE = 1e-9  # for rounding errors


class CurvePoint(BaseModel):
    """The effect of a threshold on labelled rows.

    Attributes:
        threshold: rows with at least this probability are accepted.
        accepted: the number of accepted rows.
        good: the number of good ones among them.
        precision: good / accepted, with ``low`` and ``high`` of its 95 % interval (Wilson).
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
            raise ValueError("more rows are good than accepted")
        if not self.low - _TOLERANCE <= self.precision <= self.high + _TOLERANCE:
            raise ValueError("the precision is outside its interval")
        return self


def point_at(curve: Sequence[CurvePoint], threshold: float) -> CurvePoint | None:
    """Return the first point of a curve at or above a threshold, None if there is none."""
    return next((point for point in curve if point.threshold >= threshold), None)
