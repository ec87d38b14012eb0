"""What share of the questions of a run is expected to be good, and of which of them that is said."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from programs.types import Sample


class Promise(NamedTuple):
    """An expected share of good questions with its 95 % interval.

    Attributes:
        share, low, high: of the questions that it is said of.
        measured_on: how many questions it was measured on; None where that was not noted.
        of_runs: whether these were questions of runs, not labelled ones of all kinds.
        said_of: how many samples it is said of; of the others nothing was measured.
    """

    share: float
    low: float
    high: float
    measured_on: int | None
    of_runs: bool
    said_of: int


def promise_of(compiled: Mapping[str, Any] | None, samples: Iterable[Sample]) -> Promise | None:
    """Return what the critic of a run promises for its samples; None where nothing that was measured says it.

    What was measured on questions of runs is said of those that were as easy to ask.
    """
    judge = (compiled or {}).get("judge") or {}
    if not {"expected_good", "interval"} <= judge.keys():
        return None
    of_runs = is_of_runs(compiled)
    said_of = sum(not of_runs or is_easy(sample) for sample in samples)
    if not said_of:
        return None
    low, high = judge["interval"]
    return Promise(judge["expected_good"], low, high, judge.get("measured_on"), of_runs, said_of)


def is_of_runs(compiled: Mapping[str, Any] | None) -> bool:
    """Say whether what the critic promises was measured on questions of runs, all of them easy to ask."""
    return "kinds" in ((compiled or {}).get("judge") or {})


def is_easy(sample: Sample) -> bool:
    """Say whether syntax gave the question of a sample its words."""
    return any(record.step == "question" and record.output.get("easy") for record in sample.trail)
