"""The MLflow store of runs and champions."""

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
from groundset.tracking.location import store_host, tracking_location
from programs.critics.states import folder_of, parse_state
from programs.errors import TrackingError

PREFIX = "groundset"
CHAMPION = "champion"
STATE_FILE = "state.json"
LONGEST = 500  # characters of a parameter value
# By default MLflow retries an unreachable server for ten minutes and shows a progress bar for each file.
_PATIENCE = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "20",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
}
# A path at the start of a value or after a colon.
_PATH = re.compile(r"(?:^|(?<=:))(?:[A-Za-z]:)?(?:~[^/\\]*|\.{1,2})?[/\\].*", re.DOTALL)


class TrackingStore:
    """An MLflow store. The alias ``champion`` marks the version of a registered state that is in use.

    Uses its own client, so the tracking URI and active run of a notebook stay unchanged.

    Attributes:
        uri: tracking URI.
        is_default: whether it is the user's default store.
        host: host of a remote store, None for local files. Remote stores receive no user names or paths.
        keeps_texts: whether texts of documents, labels and samples are logged: always to local files, to a server only
            if requested.

    Raises:
        TrackingError: the store cannot be opened, or an operation failed.
    """

    def __init__(
        self, uri: str, artifacts: Path | None = None, is_default: bool = False, *, texts: bool = False
    ) -> None:
        """Open the store at a tracking URI; ``artifacts`` is the artifact folder of a local store."""
        self.uri = uri
        self.is_default = is_default
        self.host = store_host(uri)
        self.keeps_texts = texts or self.host is None
        self._artifacts = artifacts
        with tracking_errors(uri):
            import mlflow

            self.client = mlflow.MlflowClient(uri, uri)

    @classmethod
    def open(cls, tracking: str | None = None, *, create: bool = True, texts: bool = False) -> Self:
        """Open the store at :func:`groundset.tracking.location.tracking_location`; ``texts`` allows texts to any host.

        Raises:
            InputError: the address is invalid, the folder cannot be created, or, without ``create``, no store exists.
            TrackingError: the store cannot be opened.
        """
        for name, value in _PATIENCE.items():
            os.environ.setdefault(name, value)
        return cls(*tracking_location(tracking, create=create), texts=texts)

    def log_run(
        self, name: str, key: str, parameters: Mapping[str, Any], metrics: Mapping[str, float], samples: Path
    ) -> str:
        """Log a generated dataset unless one with the same key exists, and return the run id.

        Samples are logged if the store keeps texts and the run has none yet.
        """
        from mlflow.entities import Metric, Param

        with tracking_errors(self.uri):
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
        """Log a page as an artifact of a run, replacing one of the same name.

        Raises:
            TrackingError: the store failed.
        """
        with tracking_errors(self.uri):
            self.client.log_text(run_id, page, name)

    def _log_samples(self, run_id: str, name: str, samples: Path) -> None:
        import mlflow
        import pandas as pd
        from mlflow.data.code_dataset_source import CodeDatasetSource
        from mlflow.entities import DatasetInput, InputTag
        from mlflow.utils.mlflow_tags import MLFLOW_DATASET_CONTEXT

        # Not splitlines: texts contain other line separators, such as U+2028.
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
        """Create a run and return its id; MLflow's tags on user and program are set only in local stores."""
        from mlflow.tracking.context.registry import resolve_tags

        all_tags = dict(tags) if self.host else resolve_tags(tags)
        return str(self.client.create_run(experiment, tags=all_tags, run_name=name).info.run_id)

    def _as_parameters(self, parameters: Mapping[str, Any]) -> dict[str, str]:
        """Return parameters as strings; remote stores get only the last part of a path."""
        texts = {name: str(value) for name, value in parameters.items()}
        if self.host:
            texts = {
                name: _PATH.sub(lambda path: PureWindowsPath(path.group()).name, text) for name, text in texts.items()
            }
        return {name: encodable(text)[:LONGEST] for name, text in texts.items()}

    def champion_files(self, folder: Path) -> list[Path]:
        """Download the states of all champions to ``<folder>/<model>/<step>.json`` and return them.

        Raises:
            StateError: a champion is not a valid compiled state; nothing is written outside the folder.
        """
        import mlflow

        files = []
        with tracking_errors(self.uri), TemporaryDirectory() as aside:
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
        """Mark a run as finished or failed at the end of the block."""
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
        location = None if self._artifacts is None else self._artifacts.absolute().as_uri()
        return str(self.client.create_experiment(name, artifact_location=location))

    def champions(self) -> dict[str, Any]:
        """Return the champion versions by name of the registered model."""
        found = {}
        for model in self.client.search_registered_models(f"name LIKE '{PREFIX}-%'"):
            if CHAMPION in (model.aliases or {}):
                found[model.name] = self.client.get_model_version_by_alias(model.name, CHAMPION)
        return found


@contextmanager
def tracking_errors(uri: str) -> Iterator[None]:
    """Convert errors of MLflow and its libraries to :class:`TrackingError`, without secrets; silence their logs.

    Raises:
        TrackingError: the block failed.
    """
    from mlflow.exceptions import MlflowException
    from requests.exceptions import ConnectionError, RequestException, Timeout
    from sqlalchemy.exc import SQLAlchemyError

    loggers = [logging.getLogger(name) for name in ("mlflow", "alembic")]  # they log the creation of tables
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.WARNING)
    try:
        yield
    except (MlflowException, RequestException, SQLAlchemyError, OSError, ImportError) as error:
        if isinstance(error, ConnectionError | Timeout) or isinstance(error.__context__, ConnectionError | Timeout):
            message = f"tracking store {uri} does not respond; check the address and that the server is running"
            raise TrackingError(without_secrets(message)) from error
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise TrackingError(without_secrets(f"tracking store {uri} failed: {first[:LONGEST]}")) from error
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
