"""The share of a run's questions that is expected to be good, and for which of them the estimate holds."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from programs.types import Sample


class QualityEstimate(NamedTuple):
    """An expected share of good questions with its 95 % interval.

    Attributes:
        share, low, high: of the questions that it covers.
        measured_on: how many questions it was measured on; None where that was not recorded.
        of_runs: whether it was measured on questions of runs, rather than on labelled questions of all kinds.
        covers: how many samples it holds for; of the others nothing was measured.
    """

    share: float
    low: float
    high: float
    measured_on: int | None
    of_runs: bool
    covers: int


def estimate_quality(compiled: Mapping[str, Any] | None, samples: Iterable[Sample]) -> QualityEstimate | None:
    """Return the quality estimate of a run's samples by its compiled critic; None if nothing was measured.

    An estimate that was measured on questions of runs holds only for samples that were as easy to ask.
    """
    judge = (compiled or {}).get("judge") or {}
    if not {"expected_good", "interval"} <= judge.keys():
        return None
    of_runs = is_of_runs(compiled)
    covers = sum(not of_runs or is_easy(sample) for sample in samples)
    if not covers:
        return None
    low, high = judge["interval"]
    return QualityEstimate(judge["expected_good"], low, high, judge.get("measured_on"), of_runs, covers)


def is_of_runs(compiled: Mapping[str, Any] | None) -> bool:
    """Return whether the critic was measured on questions of runs, all of them easy to ask."""
    return "kinds" in ((compiled or {}).get("judge") or {})


def is_easy(sample: Sample) -> bool:
    """Return whether a rule of syntax worded the question of a sample."""
    return any(record.step == "question" and record.output.get("easy") for record in sample.trail)
