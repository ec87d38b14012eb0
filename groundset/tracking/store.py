"""The MLflow store: logged runs, and the compiled states in use."""

import hashlib
import json
import logging
import os
import re
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PureWindowsPath
from tempfile import TemporaryDirectory
from typing import Any, Self

from groundset.files import encodable
from groundset.privacy import without_secrets
from groundset.tracking.location import store_host, tracking_place
from programs.critics.states import folder_of, parse_state
from programs.errors import TrackingError

PREFIX = "groundset"
CHAMPION = "champion"
STATE_FILE = "state.json"
LONGEST = 500  # characters of a parameter's value
# MLflow would try a server that is not there for ten minutes, and draw a bar for each file it reads.
_PATIENCE = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "20",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
}
# A path at the beginning of a value, or after a colon.
_PATH = re.compile(r"(?:^|(?<=:))(?:[A-Za-z]:)?(?:~[^/\\]*|\.{1,2})?[/\\].*", re.DOTALL)


class TrackingStore:
    """An MLflow store. The alias ``champion`` names the version of a registered state that is in use.

    Works by a client of its own: a notebook keeps the store and the active run that it has.

    Attributes:
        uri: its address.
        usual: whether it is the user's own store, which nobody named.
        host: who keeps it, None if it lies in files of this machine. Another one is never told who the user is and
            where files lie.
        keeps_texts: whether it gets texts of documents, labels and samples: always here, elsewhere if that was asked.

    Raises:
        TrackingError: it cannot be opened, or what was asked of it failed.
    """

    def __init__(self, uri: str, artifacts: Path | None = None, usual: bool = False, *, texts: bool = False) -> None:
        """Open the store at a tracking URI; ``artifacts`` is where a local one keeps its files."""
        self.uri = uri
        self.usual = usual
        self.host = store_host(uri)
        self.keeps_texts = texts or self.host is None
        self._artifacts = artifacts
        with explained(uri):
            import mlflow

            self.client = mlflow.MlflowClient(uri, uri)

    @classmethod
    def open(cls, asked: str | None = None, *, create: bool = True, texts: bool = False) -> Self:
        """Open the store that :func:`groundset.tracking.location.tracking_place` finds; ``texts`` may go to any.

        Raises:
            InputError: it has no address, its folder cannot be made; without ``create``, there is no store yet.
            TrackingError: the store cannot be opened.
        """
        for name, value in _PATIENCE.items():
            os.environ.setdefault(name, value)
        return cls(*tracking_place(asked, create=create), texts=texts)

    def log_run(
        self, name: str, key: str, parameters: Mapping[str, Any], metrics: Mapping[str, float], samples: Path
    ) -> str:
        """Log a generated dataset, unless one with the same key was logged before, and return the run's id.

        Its samples are logged if the store keeps texts, those of a run that was logged before too.
        """
        from mlflow.entities import Metric, Param

        with explained(self.uri):
            experiment = self._experiment(f"{PREFIX}-generate")
            digest = hashlib.sha256(key.encode()).hexdigest()
            known = self.client.search_runs([experiment], filter_string=f"tags.key = '{digest}'", max_results=1)
            if known:
                run_id = str(known[0].info.run_id)
                kept = {artifact.path for artifact in self.client.list_artifacts(run_id)} if self.keeps_texts else set()
                if not self.keeps_texts or samples.name in kept:
                    return run_id
            else:
                run_id = self._begin(experiment, name, {"key": digest})
            with self._ending(run_id):
                if not known:
                    now = int(time.time() * 1000)
                    self.client.log_batch(
                        run_id,
                        metrics=[Metric(key, value, now, 0) for key, value in metrics.items()],
                        params=[Param(key, value) for key, value in self._as_parameters(parameters).items()],
                    )
                if self.keeps_texts:
                    self._log_samples(run_id, name, samples)
        return run_id

    def log_page(self, run_id: str, page: str, name: str) -> None:
        """Keep a text with a run as a file of a name; one of that name is replaced.

        Raises:
            TrackingError: the store failed.
        """
        with explained(self.uri):
            self.client.log_text(run_id, page, name)

    def _log_samples(self, run_id: str, name: str, samples: Path) -> None:
        import mlflow
        import pandas as pd
        from mlflow.data.code_dataset_source import CodeDatasetSource
        from mlflow.entities import DatasetInput, InputTag
        from mlflow.utils.mlflow_tags import MLFLOW_DATASET_CONTEXT

        # Texts hold line ends that are no ends of rows, such as U+2028.
        rows = [json.loads(line) for line in samples.read_text(encoding="utf-8").split("\n") if line]
        columns = ("id", "question", "answer", "evolution", "language", "probability")
        table = pd.DataFrame([{column: row[column] for column in columns} for row in rows], columns=columns)
        if len(table):
            source = CodeDatasetSource({"groundset": "generate", "run": name})
            dataset = mlflow.data.from_pandas(table, source=source, name=name)
            context = InputTag(MLFLOW_DATASET_CONTEXT, "generated")
            self.client.log_inputs(run_id, [DatasetInput(dataset._to_mlflow_entity(), [context])])
        self.client.log_artifact(run_id, str(samples))

    def _begin(self, experiment: str, name: str, tags: Mapping[str, str]) -> str:
        """Begin a run and return its id, with what MLflow notes of user and program only where that stays here."""
        from mlflow.tracking.context.registry import resolve_tags

        noted = dict(tags) if self.host else resolve_tags(tags)
        return str(self.client.create_run(experiment, tags=noted, run_name=name).info.run_id)

    def _as_parameters(self, parameters: Mapping[str, Any]) -> dict[str, str]:
        """Return parameters as texts; a path is only its last name unless it stays here."""
        texts = {name: str(value) for name, value in parameters.items()}
        if self.host:
            texts = {
                name: _PATH.sub(lambda path: PureWindowsPath(path.group()).name, text) for name, text in texts.items()
            }
        return {name: encodable(text)[:LONGEST] for name, text in texts.items()}

    def champion_files(self, folder: Path) -> list[Path]:
        """Download the states of all champions to ``<folder>/<model>/<step>.json`` and return them.

        Raises:
            StateError: one of them is no state of ours; nothing is written outside of the folder.
        """
        import mlflow

        files = []
        with explained(self.uri), TemporaryDirectory() as aside:
            for version in self.champions().values():
                found = mlflow.artifacts.download_artifacts(
                    run_id=version.run_id, artifact_path=STATE_FILE, dst_path=aside, tracking_uri=self.uri
                )
                state = parse_state(Path(found), f"the champion {version.name} in {without_secrets(self.uri)}")
                file = folder / folder_of(state.model) / f"{state.step}.json"
                file.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(found, file)
                files.append(file)
                if state.adapter is not None:
                    mlflow.artifacts.download_artifacts(
                        run_id=version.run_id,
                        artifact_path=state.adapter.file,
                        dst_path=str(file.parent),
                        tracking_uri=self.uri,
                    )
        return files

    @contextmanager
    def _ending(self, run_id: str) -> Iterator[None]:
        """End a run with the block: as finished, or as failed."""
        status = "FAILED"
        try:
            yield
            status = "FINISHED"
        finally:
            self.client.set_terminated(run_id, status)

    def _experiment(self, name: str) -> str:
        known = self.client.get_experiment_by_name(name)
        if known is not None:
            return str(known.experiment_id)
        place = None if self._artifacts is None else self._artifacts.absolute().as_uri()
        return str(self.client.create_experiment(name, artifact_location=place))

    def champions(self) -> dict[str, Any]:
        """Return the registered versions that are champions, by the name of their model."""
        found = {}
        for model in self.client.search_registered_models(f"name LIKE '{PREFIX}-%'"):
            if CHAMPION in (model.aliases or {}):
                found[model.name] = self.client.get_model_version_by_alias(model.name, CHAMPION)
        return found


@contextmanager
def explained(uri: str) -> Iterator[None]:
    """Turn errors of MLflow and its libraries into one line without secrets, and silence their logs.

    Raises:
        TrackingError: the line.
    """
    from mlflow.exceptions import MlflowException
    from requests.exceptions import ConnectionError, RequestException, Timeout
    from sqlalchemy.exc import SQLAlchemyError

    loggers = [logging.getLogger(name) for name in ("mlflow", "alembic")]  # the creation of tables is no news
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.WARNING)
    try:
        yield
    except (MlflowException, RequestException, SQLAlchemyError, OSError, ImportError) as error:
        if isinstance(error, ConnectionError | Timeout) or isinstance(error.__context__, ConnectionError | Timeout):
            silent = f"the tracking store {uri} does not answer: is it running, and is the address right?"
            raise TrackingError(without_secrets(silent)) from error
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise TrackingError(without_secrets(f"the tracking store {uri} failed: {first[:LONGEST]}")) from error
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
