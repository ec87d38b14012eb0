"""Compiles as the store remembers them."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

_FINISHED = "FINISHED"


class Experiment(NamedTuple):
    """A compile as the store remembers it.

    ``before`` and ``after`` are the means on dev and test rows; ``compared`` says how many candidates were evaluated
    on all dev rows, None where it was not noted; ``status`` is MLflow's word, ``error`` says why a compile failed, and
    ``started`` when it began, in milliseconds since 1970.
    """

    run_id: str
    step: str
    model: str
    optimizer: str
    before: Mapping[str, float]
    after: Mapping[str, float]
    calls: int
    champion: bool
    compared: int | None = None
    status: str = _FINISHED
    error: str = ""
    started: int = 0

    @property
    def measure(self) -> str:
        """Return what its figures are: the likelihood of gold rows for trained weights, else the step's metric."""
        return "likelihood" if self.optimizer == "finetune" else "metric"

    @property
    def gain(self) -> float:
        """Return by how much it gained on dev rows; means of other rows say nothing beside each other."""
        return self.after.get("dev", 0.0) - self.before.get("dev", 0.0)

    @property
    def finished(self) -> bool:
        """Return whether the compile came to its end."""
        return self.status == _FINISHED


def experiment_of(run: Any, champion: bool) -> Experiment:
    """Return the compile that an MLflow run tells of."""
    tags, metrics = run.data.tags, run.data.metrics
    told = {
        version: {split: metrics[f"{version}_{split}"] for split in ("dev", "test") if f"{version}_{split}" in metrics}
        for version in ("before", "after")
    }
    return Experiment(
        run.info.run_id,
        tags["step"],
        tags["model"],
        tags["optimizer"],
        told["before"],
        told["after"],
        int(metrics.get("calls", 0)),
        champion,
        int(metrics["compared"]) if "compared" in metrics else None,
        run.info.status,
        tags.get("error", ""),
        run.info.start_time or 0,
    )


def best_of(experiments: Sequence[Experiment], count: int) -> list[Experiment]:
    """Return the first finished experiments of each step, model and measure."""
    kept: list[Experiment] = []
    for each in experiments:
        if not each.finished:
            continue
        alike = [known for known in kept if _kind(known) == _kind(each)]
        if len(alike) < count or each.champion:
            kept.append(each)
    return kept


def _kind(experiment: Experiment) -> tuple[str, str, str]:
    return experiment.step, experiment.model, experiment.measure
