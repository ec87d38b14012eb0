"""Compiles in MLflow: one experiment for each step, one run for each compile, one child for each candidate.

The state of every compile is also a version of a registered model, and its prompt one of a registered prompt.
"""

import json
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from groundset.privacy import without_secrets
from groundset.tracking.experiments import Experiment, experiment_of
from groundset.tracking.place import VARIABLE
from groundset.tracking.store import CHAMPION, LONGEST, PREFIX, STATE_FILE, TrackingStore, explained
from optimizers.measures import Interval, certain_gain, mean_gain
from optimizers.pictures import confusion, draw_critic
from optimizers.report import CompileReport
from optimizers.states import state_text
from programs.critics.states import check_state, folder_of, parse_state
from programs.errors import GroundsetError, PromotionError
from programs.steps import STEPS

_ROWS_FILE = "predictions.parquet"
_NEWEST = 3  # compiles that are named to whoever names a run instead
_FEWEST_DOCUMENTS = 5  # that a champion must have been measured on: of fewer all may gain by luck


class _Score(NamedTuple):
    value: float
    document: str


class _Pairs(NamedTuple):
    """The scores of rows that two compiles were measured on, with the documents of the rows."""

    before: list[float]
    after: list[float]
    documents: list[str]

    @classmethod
    def of(cls, old: Mapping[tuple[str, str], _Score], new: Mapping[tuple[str, str], _Score], split: str) -> "_Pairs":
        """Return those of the rows of a split that both have."""
        common = sorted(key for key in old.keys() & new.keys() if key[0] == split)
        before, after = ([each[key].value for key in common] for each in (old, new))
        return cls(before, after, [new[key].document for key in common])


class CompileStore(TrackingStore):
    """An MLflow store of compiles. What optimizers log by themselves goes there too: it becomes MLflow's own store."""

    def __init__(self, uri: str, artifacts: Path | None = None, usual: bool = False, *, texts: bool = False) -> None:
        """Open the store as :class:`TrackingStore` does."""
        super().__init__(uri, artifacts, usual, texts=texts)
        with explained(uri):
            import mlflow

            named = os.environ.get(VARIABLE)
            mlflow.set_tracking_uri(uri)
            mlflow.set_registry_uri(uri)
            # MLflow writes it into the environment too; the next store would take that for what the user says.
            os.environ.pop(VARIABLE, None)
            if named is not None:
                os.environ[VARIABLE] = named

    def start_compile(self, step: str, model: str, optimizer: str, parameters: Mapping[str, Any]) -> str:
        """Start the run of a compile and return its id; :meth:`log_compile` or :meth:`end_compile` ends it."""
        import mlflow

        with explained(self.uri):
            experiment = self._experiment(f"{PREFIX}-{step}")
            tags = {"step": step, "model": model, "optimizer": optimizer}
            # Not mlflow.start_run: of two steps that are compiled at once, one would be the child of the other.
            run_id = self._begin(experiment, f"{model} {optimizer}", tags)
            mlflow.log_params(self._told(parameters), run_id=run_id)
        return run_id

    def end_compile(self, run_id: str, error: BaseException) -> None:
        """End the run of a compile that has no report: KILLED by Ctrl-C, or FAILED with the error as a tag.

        An error can tell texts and paths, so a store that keeps no texts gets only its kind.
        """
        with explained(self.uri):
            if isinstance(error, KeyboardInterrupt):
                self._client.set_terminated(run_id, "KILLED")
                return
            told = str(error) if isinstance(error, GroundsetError) else f"{type(error).__name__}: {error}"
            told = told if self.keeps_texts else type(error).__name__
            self._client.set_tag(run_id, "error", without_secrets(" ".join(told.split()))[:LONGEST])
            self._client.set_terminated(run_id, "FAILED")

    def log_compile(self, report: CompileReport, run_id: str) -> None:
        """Log a compile with its candidates in the run that was started for it, and register its state and prompt.

        One that was interrupted is logged, but not registered, and its run is marked KILLED. A store that keeps no
        texts gets figures only: a state holds demos, and a prompt, rows and trained weights what is in the labels.
        """
        import mlflow

        state = report.state
        with explained(self.uri), TemporaryDirectory() as folder:
            files = [*_artifacts_of(report, Path(folder)), *report.files] if self.keeps_texts else []
            with mlflow.start_run(run_id=run_id) as run:
                mlflow.set_tag("ending", report.ending)
                mlflow.log_params(self._told(report.parameters))
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
                name = _registered(state.step, state.model)
                if report.prompt is not None:
                    mlflow.genai.register_prompt(
                        name=f"{name}-prompt",
                        template=report.prompt,
                        commit_message=f"{state.model} {state.optimizer}",
                        tags={"run_id": run_id},
                    )
                self._register(name, run_id)  # last: only what is whole can be promoted

    def log_figures(
        self, experiment: str, name: str, parameters: Mapping[str, Any], measures: Mapping[str, Mapping[str, Interval]]
    ) -> None:
        """Log the figures of something that leaves no state, such as a kind of head that was only tried."""
        import mlflow

        with explained(self.uri):
            place = self._experiment(f"{PREFIX}-{experiment}")
            with mlflow.start_run(run_id=self._begin(place, name, {})):
                mlflow.log_params(self._told(parameters))
                mlflow.log_metrics(_flat(measures))

    def experiments(self) -> list[Experiment]:
        """Return the compiles, unfinished ones too, for each step, model and measure those that gained most first."""
        with explained(self.uri):
            champions = {version.run_id for version in self._champions().values()}
            found = [
                experiment_of(run, run.info.run_id in champions)
                for experiment in self._client.search_experiments(filter_string=f"name LIKE '{PREFIX}-%'")
                for run in self._compiles_of(experiment.experiment_id)
            ]
        return sorted(found, key=lambda each: (each.step, each.model, each.measure, -each.gain))

    def _compiles_of(self, experiment: str) -> Iterator[Any]:
        """Yield the runs of compiles in an experiment, whatever their number; candidates have no step."""
        token: str | None = None
        while True:
            page = self._client.search_runs([experiment], filter_string="tags.step LIKE '%'", page_token=token)
            yield from page
            if not (token := page.token):
                return

    def promote(self, run_id: str) -> tuple[str, dict[str, Interval]]:
        """Make a compile the champion of its step and model, and return its name with the gains on dev and test rows.

        It must beat the champion on the dev rows that both were measured on, of five documents or more, beyond noise.
        Without a champion it must beat the step as it was. Test rows decide nothing: who chose by them would have none
        left to report. The best of several candidates on these rows is lucky too, so the interval is as much wider
        (Bonferroni's correction).

        Raises:
            PromotionError: it does not, it did not finish, its scores are damaged, or there is no such compile.
            StateError: its state is damaged, or was made for another version.
        """
        with explained(self.uri):
            versions = self._client.search_model_versions(f"run_id='{run_id}'")
            if not versions:
                raise PromotionError(self._unregistered(run_id))
            name, version = versions[0].name, versions[0].version
            new = self._scores(run_id, "after")
            champion = self._champions().get(name)
            if champion is not None and champion.run_id == run_id:
                raise PromotionError(f"{run_id} is the champion already.")
            if champion is not None:
                self._check_weights(run_id, champion)
            old = self._scores(run_id, "before") if champion is None else self._scores(champion.run_id, "after")
            tried = max(1, int(self._client.get_run(run_id).data.metrics.get("tried", 1)))
            dev, test = _Pairs.of(old, new, "dev"), _Pairs.of(old, new, "test")
            if not dev.before:
                raise PromotionError(self._not_comparable(run_id, champion))
            if (documents := len(set(dev.documents))) < _FEWEST_DOCUMENTS:
                raise PromotionError(
                    f"{run_id} is not promoted: the dev rows to compare it on, {len(dev.before)}, are of too few "
                    f"documents ({documents} of {_FEWEST_DOCUMENTS}); compile again with the labels and the --seed of "
                    "the champion, or with more labels."
                )
            gains = {"dev": certain_gain(*dev, tried)} | ({"test": mean_gain(*test)} if test.before else {})
            if not gains["dev"].low > 0:
                best = f", the best of {tried} candidates on them," if tried > 1 else ","
                raise PromotionError(
                    f"{run_id} is not promoted: the gain on dev rows, {gains['dev']}{best} is within noise."
                )
            self._check_state(run_id)
            self._client.set_registered_model_alias(name, CHAMPION, version)
        return name, gains

    def _check_weights(self, run_id: str, champion: Any) -> None:
        """Raise if a compile is for other weights than the champion of the same name."""
        new, old = (self._client.get_run(each).data.params.get("model_sha256") for each in (run_id, champion.run_id))
        if new and old and new != old:
            raise PromotionError(
                f"{run_id} was compiled for other weights than the champion {champion.run_id}, which serves those: "
                f"rename the file of one model, or delete the alias {CHAMPION} of {champion.name} in `groundset ui` "
                "and promote again."
            )

    def _not_comparable(self, run_id: str, champion: Any) -> str:
        """Return why a compile and the champion have no dev row in common."""
        if champion is not None:
            ids = {run_id: "", champion.run_id: ""}
            ids |= {each: self._client.get_run(each).data.tags.get("optimizer", "") for each in ids}
            if len(set(ids.values())) > 1:
                told = f"{run_id} by {ids[run_id]}, the champion {champion.run_id} by {ids[champion.run_id]}"
                return (
                    f"{told}: they may be measured by different measures and have no dev row in common. Read samples "
                    f"made with both; if the new one is better, delete the alias {CHAMPION} of {champion.name} in "
                    "`groundset ui` and promote again."
                )
        return "the two compiles have no dev row in common; compile again with the same labels."

    def _unregistered(self, run_id: str) -> str:
        """Return why a run has no registered state."""
        found = self.experiments()
        for each in found:
            if each.run_id == run_id and each.finished:
                return f"the state of {run_id} was not sent to the store: compile it again with --track-texts."
            if each.run_id == run_id:
                told = f": {each.error}" if each.error else ""
                return f"{run_id} did not finish ({each.status.lower()}{told}); only a whole compile can be promoted."
        if not self._is_run(run_id):
            return f"{run_id}: no compile of that id; groundset experiments lists them."
        finished = sorted((each for each in found if each.finished), key=lambda each: -each.started)
        newest = ", ".join(f"{each.step} for {each.model} ({each.run_id})" for each in finished[:_NEWEST])
        told = (
            f"the newest compiles are {newest}; groundset experiments lists more" if newest else "there is no compile"
        )
        return f"{run_id} is a run of groundset generate, and only a compile can be promoted: {told}."

    def _is_run(self, run_id: str) -> bool:
        """Say whether an id is that of a generated dataset."""
        from mlflow.exceptions import MlflowException

        try:
            run = self._client.get_run(run_id)
        except MlflowException:
            return False
        experiment = self._client.get_experiment_by_name(f"{PREFIX}-generate")
        return experiment is not None and run.info.experiment_id == experiment.experiment_id

    def _log_candidate(self, experiment: str, parent: str, candidate: Mapping[str, Any]) -> None:
        import mlflow
        from mlflow.utils.mlflow_tags import MLFLOW_PARENT_RUN_ID

        told = {
            key: value
            for key, value in candidate.items()
            if key != "dev" and (self.keeps_texts or isinstance(value, int | float))
        }
        run_id = self._begin(experiment, f"candidate {candidate['number']}", {MLFLOW_PARENT_RUN_ID: parent})
        with mlflow.start_run(run_id=run_id, nested=True):
            mlflow.log_params(self._told(told))
            if candidate.get("dev") is not None:
                mlflow.log_metric("dev", candidate["dev"])

    def _register(self, name: str, run_id: str) -> None:
        from mlflow.exceptions import MlflowException

        try:
            self._client.get_registered_model(name)
        except MlflowException:
            self._client.create_registered_model(name)
        self._client.create_model_version(name, source=f"runs:/{run_id}/{STATE_FILE}", run_id=run_id)

    def _scores(self, run_id: str, version: str) -> dict[tuple[str, str], _Score]:
        import mlflow
        import pandas as pd

        with TemporaryDirectory() as aside:
            file = mlflow.artifacts.download_artifacts(run_id=run_id, artifact_path=_ROWS_FILE, dst_path=aside)
            rows = pd.read_parquet(file)
        documents = rows.get("document", rows["id"])  # older compiles did not note them
        keys = zip(rows["split"], rows["id"], strict=True)
        values = [float(value) for value in rows[f"{version}_score"]]
        if not all(map(math.isfinite, values)):
            raise PromotionError(f"{_ROWS_FILE} of {run_id} is damaged: it holds scores that are no numbers.")
        scores = zip(values, documents, strict=True)
        return {key: _Score(value, str(document)) for key, (value, document) in zip(keys, scores, strict=True)}

    def _check_state(self, run_id: str) -> None:
        """Raise a ``StateError`` if the state of a compile is damaged or does not fit its step."""
        import mlflow

        with TemporaryDirectory() as aside:
            file = mlflow.artifacts.download_artifacts(run_id=run_id, artifact_path=STATE_FILE, dst_path=aside)
            told = f"{STATE_FILE} of {run_id} in {without_secrets(self.uri)}"
            state = parse_state(Path(file), told)
            check_state(state, STEPS[state.step].signature, told)


def _artifacts_of(report: CompileReport, folder: Path) -> list[Path]:
    import pandas as pd

    files = [folder / STATE_FILE, folder / _ROWS_FILE]
    files[0].write_text(state_text(report.state), encoding="utf-8")
    pd.DataFrame(list(report.rows)).to_parquet(files[1], index=False)
    if report.prompt is not None:
        files.append(folder / "prompt.txt")
        files[-1].write_text(report.prompt, encoding="utf-8")
    if any("fit" in row and row["split"] == "test" for row in report.rows):  # none was reported if Ctrl-C came before
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


def _registered(step: str, model: str) -> str:
    """Return a name that MLflow takes: without slashes and colons."""
    return f"{PREFIX}-{step}-{folder_of(model)}"
