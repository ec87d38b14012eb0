"""Compiles in MLflow: an experiment per step, a run per compile, a child run per candidate.

The state of each compile is also a version of a registered model, and its prompt a version of a registered prompt.
"""

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, NamedTuple, Self

from groundset.privacy import without_secrets
from groundset.tracking.location import VARIABLE, location_suffix
from groundset.tracking.store import LONGEST, PREFIX, STATE_FILE, TrackingStore, tracking_errors
from optimizers.measures import Interval
from optimizers.report import CompileReport, confusion, draw_critic, state_text
from programs.critics.states import folder_of
from programs.errors import GroundsetError, InputError, TrackingError

ROWS_FILE = "predictions.parquet"
_FINISHED = "FINISHED"


class Experiment(NamedTuple):
    """A tracked compile.

    Attributes:
        before, after: means on dev and test rows.
        compared: number of candidates evaluated on all dev rows; None if not recorded.
        status: MLflow run status.
        error: reason of a failed compile.
        started: start time in milliseconds since 1970.
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
        """Return the kind of its figures: likelihood of gold rows for trained weights, else the metric of the step."""
        return "likelihood" if self.optimizer == "finetune" else "metric"

    @property
    def gain(self) -> float:
        """Return the gain on dev rows; comparable only between compiles on the same rows."""
        return self.after.get("dev", 0.0) - self.before.get("dev", 0.0)

    @property
    def finished(self) -> bool:
        """Return whether the compile finished."""
        return self.status == _FINISHED

    @classmethod
    def from_run(cls, run: Any, champion: bool) -> Self:
        """Build it from an MLflow run."""
        tags, metrics = run.data.tags, run.data.metrics
        before, after = (
            {split: metrics[f"{name}_{split}"] for split in ("dev", "test") if f"{name}_{split}" in metrics}
            for name in ("before", "after")
        )
        return cls(
            run.info.run_id,
            tags["step"],
            tags["model"],
            tags["optimizer"],
            before,
            after,
            int(metrics.get("calls", 0)),
            champion,
            int(metrics["compared"]) if "compared" in metrics else None,
            run.info.status,
            tags.get("error", ""),
            run.info.start_time or 0,
        )


def best_of(experiments: Sequence[Experiment], count: int) -> list[Experiment]:
    """Return the first ``count`` finished experiments of each step, model and measure, and all champions."""
    kept: list[Experiment] = []
    counts: Counter[tuple[str, str, str]] = Counter()
    for experiment in experiments:
        group = (experiment.step, experiment.model, experiment.measure)
        if experiment.finished and (counts[group] < count or experiment.champion):
            kept.append(experiment)
            counts[group] += 1
    return kept


class CompileStore(TrackingStore):
    """An MLflow store of compiles; becomes MLflow's global store, so that optimizers log there too."""

    def __init__(
        self, uri: str, artifacts: Path | None = None, is_default: bool = False, *, texts: bool = False
    ) -> None:
        """Open the store as :class:`TrackingStore` does."""
        super().__init__(uri, artifacts, is_default, texts=texts)
        with tracking_errors(uri):
            import mlflow

            user_value = os.environ.get(VARIABLE)
            mlflow.set_tracking_uri(uri)
            mlflow.set_registry_uri(uri)
            # MLflow also sets the variable, which the next store would take for the user's choice.
            os.environ.pop(VARIABLE, None)
            if user_value is not None:
                os.environ[VARIABLE] = user_value

    def start_compile(self, step: str, model: str, optimizer: str, parameters: Mapping[str, Any]) -> str:
        """Start the run of a compile and return its id; end it with :meth:`log_compile` or :meth:`end_compile`."""
        import mlflow

        with tracking_errors(self.uri):
            experiment = self._experiment(f"{PREFIX}-{step}")
            tags = {"step": step, "model": model, "optimizer": optimizer}
            # Not mlflow.start_run: with two steps compiled at once, one run would become a child of the other.
            run_id = self._begin(experiment, f"{model} {optimizer}", tags)
            mlflow.log_params(self._as_parameters(parameters), run_id=run_id)
        return run_id

    def end_compile(self, run_id: str, error: BaseException) -> None:
        """End the run of a compile without a report: KILLED after Ctrl-C, else FAILED with the error as a tag.

        A store that keeps no texts gets only the type of the error, since messages may contain texts and paths.
        """
        with tracking_errors(self.uri):
            if isinstance(error, KeyboardInterrupt):
                self.client.set_terminated(run_id, "KILLED")
                return
            reason = str(error) if isinstance(error, GroundsetError) else f"{type(error).__name__}: {error}"
            reason = reason if self.keeps_texts else type(error).__name__
            self.client.set_tag(run_id, "error", without_secrets(" ".join(reason.split()))[:LONGEST])
            self.client.set_terminated(run_id, "FAILED")

    def log_compile(self, report: CompileReport, run_id: str) -> None:
        """Log a compile with its candidates to its run, and register its state and prompt.

        An interrupted compile is logged as KILLED and not registered. A store that keeps no texts gets only figures,
        because states, prompts, rows and trained weights contain texts of labels and demos.
        """
        import mlflow

        state = report.state
        with tracking_errors(self.uri), TemporaryDirectory() as folder:
            files = [*_artifacts_of(report, Path(folder)), *report.files] if self.keeps_texts else []
            with mlflow.start_run(run_id=run_id) as run:
                mlflow.set_tag("ending", report.ending)
                mlflow.log_params(self._as_parameters(report.parameters))
                mlflow.log_metrics(_flat(report.measures) | {key: float(v) for key, v in report.figures.items()})
                for name, curve in report.curves.items():
                    for step, value in curve:
                        mlflow.log_metric(name, value, step=step)
                for file in files:
                    mlflow.log_artifact(str(file))
                for candidate in report.candidates:
                    self._log_candidate(run.info.experiment_id, run_id, candidate)
                if report.ending == "interrupted":
                    mlflow.end_run("KILLED")
                if report.ending == "interrupted" or not self.keeps_texts:
                    return
                name = f"{PREFIX}-{state.step}-{folder_of(state.model)}"  # without slashes and colons
                if report.prompt is not None:
                    mlflow.genai.register_prompt(
                        name=f"{name}-prompt",
                        template=report.prompt,
                        commit_message=f"{state.model} {state.optimizer}",
                        tags={"run_id": run_id},
                    )
                self._register(name, run_id)  # last, so that only complete compiles can be promoted

    def log_figures(
        self, experiment: str, name: str, parameters: Mapping[str, Any], measures: Mapping[str, Mapping[str, Interval]]
    ) -> None:
        """Log the figures of an experiment without a state, such as a type of head."""
        import mlflow

        with tracking_errors(self.uri):
            experiment_id = self._experiment(f"{PREFIX}-{experiment}")
            with mlflow.start_run(run_id=self._begin(experiment_id, name, {})):
                mlflow.log_params(self._as_parameters(parameters))
                mlflow.log_metrics(_flat(measures))

    def experiments(self) -> list[Experiment]:
        """Return all compiles, also unfinished ones, by step, model and measure, the highest gain first."""
        with tracking_errors(self.uri):
            champions = {version.run_id for version in self.champions().values()}
            found = [
                Experiment.from_run(run, run.info.run_id in champions)
                for experiment in self.client.search_experiments(filter_string=f"name LIKE '{PREFIX}-%'")
                for run in self._compiles_of(experiment.experiment_id)
            ]
        return sorted(found, key=lambda entry: (entry.step, entry.model, entry.measure, -entry.gain))

    def _compiles_of(self, experiment: str) -> Iterator[Any]:
        """Yield the runs of compiles in an experiment, page by page; runs of candidates have no step."""
        token: str | None = None
        while True:
            page = self.client.search_runs([experiment], filter_string="tags.step LIKE '%'", page_token=token)
            yield from page
            if not (token := page.token):
                return

    def _log_candidate(self, experiment: str, parent: str, candidate: Mapping[str, Any]) -> None:
        import mlflow
        from mlflow.utils.mlflow_tags import MLFLOW_PARENT_RUN_ID

        parameters = {
            key: value
            for key, value in candidate.items()
            if key != "dev" and (self.keeps_texts or isinstance(value, int | float))
        }
        run_id = self._begin(experiment, f"candidate {candidate['number']}", {MLFLOW_PARENT_RUN_ID: parent})
        with mlflow.start_run(run_id=run_id, nested=True):
            mlflow.log_params(self._as_parameters(parameters))
            if candidate.get("dev") is not None:
                mlflow.log_metric("dev", candidate["dev"])

    def _register(self, name: str, run_id: str) -> None:
        from mlflow.exceptions import MlflowException

        try:
            self.client.get_registered_model(name)
        except MlflowException:
            self.client.create_registered_model(name)
        self.client.create_model_version(name, source=f"runs:/{run_id}/{STATE_FILE}", run_id=run_id)


def _artifacts_of(report: CompileReport, folder: Path) -> list[Path]:
    import pandas as pd

    files = [folder / STATE_FILE, folder / ROWS_FILE]
    files[0].write_text(state_text(report.state), encoding="utf-8")
    pd.DataFrame(list(report.rows)).to_parquet(files[1], index=False)
    if report.prompt is not None:
        files.append(folder / "prompt.txt")
        files[-1].write_text(report.prompt, encoding="utf-8")
    if any("fit" in row and row["split"] == "test" for row in report.rows):  # none if interrupted before testing
        threshold = report.state.threshold
        files += draw_critic(report.rows, folder)
        files.append(folder / "confusion.json")
        table = confusion(report.rows, 0.5 if threshold is None else threshold)
        files[-1].write_text(json.dumps(table, indent=1), encoding="utf-8")
    return files


def _flat(measures: Mapping[str, Mapping[str, Interval]]) -> dict[str, float]:
    flat = {}
    for version, found in measures.items():
        for name, interval in found.items():
            flat[f"{version}_{name}"] = interval.value
            flat[f"{version}_{name}_low"], flat[f"{version}_{name}_high"] = interval.low, interval.high
    return flat


class CompileRuns:
    """Context manager of the MLflow runs of running compiles, one per step.

    Runs without a report at the end of the block are marked KILLED after Ctrl-C, else FAILED with the error. If the
    store cannot be opened, it is reported once and the compiles continue untracked.
    """

    def __init__(
        self, open_store: Callable[[], CompileStore] | None, warn: Callable[[InputError | TrackingError], object]
    ) -> None:
        """Do not open the store yet; without ``open_store`` nothing is tracked; ``warn`` receives store errors."""
        self._open_store, self._warn = open_store, warn
        self._store: CompileStore | None = None
        self._runs: dict[str, str] = {}

    def __enter__(self) -> Self:
        """Return the context."""
        return self

    def start(self, step: str, model: str, optimizer: str, parameters: Mapping[str, Any]) -> None:
        """Start the run of a step."""
        if self._open_store is None:
            return
        try:
            self._store = self._store or self._open_store()
            self._runs[step] = self._store.start_compile(step, model, optimizer, parameters)
        except (InputError, TrackingError) as error:
            self._open_store = None
            self._warn(error)

    def finish(self, report: CompileReport) -> str | None:
        """Log a report to the run of its step, and return its id and location; None if it is not tracked."""
        store, run_id = self._store, self._runs.get(report.step)
        if store is None or run_id is None:
            return None
        try:
            store.log_compile(report, run_id)
        except TrackingError as error:
            self._end(run_id, error)
            self._warn(error)
            return None
        finally:
            del self._runs[report.step]
        note = "" if store.keeps_texts else f" (figures only; --track-texts sends the state to {store.host})"
        return f"{run_id}{location_suffix(store.uri, is_default=store.is_default)}{note}"

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Mark the runs that have no report."""
        if error is not None:
            for run_id in self._runs.values():
                self._end(run_id, error)

    def _end(self, run_id: str, error: BaseException) -> None:
        with suppress(TrackingError):  # the original error is reported
            if self._store is not None:
                self._store.end_compile(run_id, error)
