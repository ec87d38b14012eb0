"""The quality estimate of a run: the expected share of good questions, and which questions it covers."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from programs.types import Sample


class QualityEstimate(NamedTuple):
    """An expected share of good questions with its 95 % interval.

    Attributes:
        share, low, high: the share of good questions among those covered, and its interval.
        measured_on: the number of questions it was measured on, if recorded.
        of_runs: whether it was measured on questions of runs, rather than on labelled questions of all kinds.
        covers: the number of covered samples; nothing was measured for the others.
    """

    share: float
    low: float
    high: float
    measured_on: int | None
    of_runs: bool
    covers: int


def estimate_quality(compiled: Mapping[str, Any] | None, samples: Iterable[Sample]) -> QualityEstimate | None:
    """Return the quality estimate of a run's samples from its compiled critic; None if nothing was measured.

    An estimate measured on questions of runs covers only easy questions.
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
    """Return whether the critic was measured on questions of runs, all of them easy."""
    return "kinds" in ((compiled or {}).get("judge") or {})


def is_easy(sample: Sample) -> bool:
    """Return whether the question of a sample was worded from sentence syntax."""
    return any(record.step == "question" and record.output.get("easy") for record in sample.trail)
