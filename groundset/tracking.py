"""Runs and compiles in MLflow 3: by default in a SQLite file of this project or of the user.

A run of groundset is a run of the experiment ``groundset-generate``, a compile one of
``groundset-<step>``. Texts go to local stores only, unless they are asked for. Aliases, comparison
and the page are MLflow's own.
"""

import hashlib
import json
import logging
import os
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path, PureWindowsPath
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from platformdirs import user_data_path

from groundset import __version__
from groundset.files import encodable, json_text
from groundset.privacy import without_secrets
from groundset.programs.errors import InputError, StateError, TrackingError, first_line
from groundset.programs.text import digest

FOLDER, RUNS, REGISTRY = "mlruns", "groundset-generate", "prompts:/"
VARIABLE = "MLFLOW_TRACKING_URI"
SQLITE = "sqlite:///"
# Two letters or more: not a Windows drive.
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+:", re.IGNORECASE)
_PATH = re.compile(r"(?:^|(?<=:))(?:[A-Za-z]:)?(?:~[^/\\]*|\.{1,2})?[/\\].*", re.DOTALL)
_LONGEST = 500  # characters of a parameter
_DIGEST = 36  # characters of the digest of a dataset
_STATE = "state"  # the tag of a prompt version: the hash of its state
# By default MLflow retries an unreachable server for ten minutes and shows a progress bar for each
# file.
_PATIENCE = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "20",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
}
_MOST_TRACES = 10_000


class Location(NamedTuple):
    """Where a store is: its URI, the folder of its artifacts if it is local, and the host of a
    server.
    """

    uri: str
    artifacts: Path | None = None
    host: str | None = None

    def __str__(self) -> str:
        """Return it for messages: the folder of a local store, else the address without secrets."""
        return str(self.artifacts.parent) if self.artifacts else without_secrets(self.uri)


def location(tracking: str | None = None) -> Location:
    """Return where to track: ``tracking``, ``MLFLOW_TRACKING_URI``, ``mlruns/`` here, or the user's
    data folder.

    The first two are a URI or a folder; ``mlruns/`` of another user, who could read what is logged,
    is passed over.

    Raises:
        InputError: the address is wrong, or the folder cannot be created.
    """
    given = os.environ.get(VARIABLE) if tracking is None else tracking
    if tracking == "":
        raise InputError("--tracking: must not be empty; give an address or a folder")
    if given and _ADDRESS.match(given):
        return _from_uri(given)
    home = os.environ.get("GROUNDSET_HOME")
    data = Path(home).expanduser() if home else user_data_path("groundset", appauthor=False)
    folder = Path(given).expanduser() if given else data / FOLDER
    try:
        if not given and _is_mine(Path(FOLDER)):
            folder = Path(FOLDER)
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--tracking {given or folder}: {error.strerror or error}") from error
    folder = folder.absolute()
    return Location(f"{SQLITE}{folder / 'mlflow.db'}", folder / "artifacts")


def _is_mine(folder: Path) -> bool:
    return folder.is_dir() and folder.stat().st_uid == getattr(os, "getuid", lambda: 0)()


def _from_uri(uri: str) -> Location:
    try:
        parts = urlsplit(without_secrets(uri))
    except ValueError as error:
        raise InputError(
            f"--tracking or {VARIABLE}: {without_secrets(uri)} is not an address ({error})"
        ) from error
    if parts.scheme.partition("+")[0] in ("sqlite", "file") and parts.netloc in ("", "localhost"):
        if not uri.startswith(SQLITE):
            return Location(uri)
        # MLflow would put the artifacts of a local database into the working directory.
        return Location(uri, Path(uri.removeprefix(SQLITE)).parent / "artifacts")
    return Location(uri, None, parts.netloc or without_secrets(uri))


class Rows(NamedTuple):
    """Rows that a run or a compile used; only their number and hash are logged."""

    name: str
    use: str  # ``train``, ``dev``, ``test`` or ``evaluation``
    rows: Sequence[Mapping[str, Any]]


@dataclass
class Entry:
    """What is logged of a run or a compile; one that is logged again, by its ``key``, goes on."""

    experiment: str
    name: str
    key: str  # its hash is logged
    started: datetime
    ended: datetime
    status: str = "FINISHED"  # or ``KILLED``
    parameters: Mapping[str, Any] = field(default_factory=dict)
    metrics: Sequence[tuple[str, float, int]] = ()  # name, value and step
    tags: Mapping[str, str] = field(default_factory=dict)
    rows: Sequence[Rows] = ()
    files: Mapping[str, Path | str] = field(default_factory=dict)  # a file, or the text of one
    prompts: Sequence[str] = ()  # the versions that it used: ``prompts:/NAME/3``
    # A compiled program, which becomes a model, and the prompts of changed predictors new versions,
    # with the hashes of their states by step.
    program: Any = None
    changed: Sequence[str] = ()
    states: Mapping[str, str] = field(default_factory=dict)
    lm: Any = None  # that the program is for


class Tracking:
    """An open store. It uses its own client: the tracking URI and the active run of a notebook stay
    what they are.
    """

    def __init__(self, tracking: str | None = None, *, texts: bool = False) -> None:
        """Open the store at :func:`location`; ``texts`` lets a server have texts, too.

        Raises:
            InputError: the address is wrong, or the folder cannot be created.
            TrackingError: the store cannot be opened.
        """
        self.where = location(tracking)
        # Whether those of documents, labels and samples are logged.
        self.texts = texts or self.where.host is None
        for name, value in _PATIENCE.items():
            os.environ.setdefault(name, value)
        with self._guarded():
            import mlflow

            self.client = mlflow.MlflowClient(self.where.uri, self.where.uri)

    def inputs_of_traces(self, experiment: str) -> list[Any]:
        """Return the inputs of the root spans of the newest traces of an experiment, the newest
        first.

        Raises:
            InputError: there is no such experiment.
            TrackingError: the store failed.
        """
        with self._guarded():
            import mlflow

            known = self.client.get_experiment_by_name(experiment)
            if known is None:
                raise InputError(
                    f"{self.where}: there is no experiment {experiment}; name one as URI#EXPERIMENT"
                )
            traces = mlflow.search_traces(
                locations=[known.experiment_id], max_results=_MOST_TRACES, return_type="list"
            )
        spans = (span for trace in traces for span in trace.data.spans)
        return [span.inputs for span in spans if span.parent_id is None]

    def log(self, entry: Entry) -> str:
        """Log a run or a compile, and return a line about it.

        Raises:
            TrackingError: the store failed.
        """
        with self._guarded():
            from mlflow.tracing.constant import TraceTagKey

            run = self._opened(entry)
            run_id, status = run.info.run_id, "FAILED"
            try:
                self._log_values(run, entry)
                if self.texts:
                    self._log_files(run_id, entry.files)
                known = run.data.tags.get(TraceTagKey.LINKED_PROMPTS)
                prompts = json.loads(known) if known else self._prompts(run, entry)
                if prompts:
                    # Not by `link_prompt_version_to_run`, which fails for deleted versions.
                    self.client.set_tag(run_id, TraceTagKey.LINKED_PROMPTS, json_text(prompts))
                status = entry.status
            finally:
                self.client.set_terminated(run_id, status, _milliseconds(entry.ended))
        line = f"MLflow run {run_id} in {self.where}"
        if not self.texts:
            return f"{line} (figures only; --track-texts sends texts to {self.where.host})"
        made = prompts if entry.program else []
        return ", ".join([line, *(f"{REGISTRY}{each['name']}/{each['version']}" for each in made)])

    def _opened(self, entry: Entry) -> Any:
        """Return the run of MLflow that has the key of an entry, or else a new one."""
        from mlflow.tracking.context.registry import resolve_tags

        experiment = self._experiment(entry.experiment)
        tags = {"key": hashlib.sha256(entry.key.encode()).hexdigest()}
        same = f"tags.key = '{tags['key']}'"
        if known := self.client.search_runs([experiment], same, max_results=1):
            return known[0]
        return self.client.create_run(
            experiment,
            start_time=_milliseconds(entry.started),
            # MLflow's tags about user and program are for local stores.
            tags=tags if self.where.host else resolve_tags(tags),
            run_name=encodable(entry.name),
        )

    def _log_values(self, run: Any, entry: Entry) -> None:
        from mlflow.entities import Dataset, DatasetInput, InputTag, Metric, Param, RunTag
        from mlflow.utils.mlflow_tags import MLFLOW_DATASET_CONTEXT

        ended = _milliseconds(entry.ended)
        # Those of the first time, which MLflow lets nobody change.
        shown = {} if run.data.params else self._parameters(entry.parameters)
        # MLflow gives metrics to the active model of a thread, which may be in another store.
        with ThreadPoolExecutor(1) as thread:
            thread.submit(
                self.client.log_batch,
                run.info.run_id,
                [Metric(name, value, ended, step) for name, value, step in entry.metrics],
                [Param(name, text) for name, text in shown.items()],
                [RunTag(name, text) for name, text in entry.tags.items()],
            ).result()
        inputs = []
        for name, use, rows in entry.rows:
            sha256 = digest(rows)
            dataset = Dataset(
                name,
                sha256[:_DIGEST],
                source_type="code",
                source=json_text({"tags": {"sha256": sha256, "rows": len(rows)}}),
            )
            inputs.append(DatasetInput(dataset, [InputTag(MLFLOW_DATASET_CONTEXT, use)]))
        self.client.log_inputs(run.info.run_id, inputs)

    def _log_files(self, run_id: str, files: Mapping[str, Path | str]) -> None:
        # Read after the last change: a trigger in the database of a stranger could have moved it.
        self._check_stays(self.client.get_run(run_id).info.artifact_uri)
        for name, content in files.items():
            if isinstance(content, Path):
                self.client.log_artifact(run_id, str(content))
            else:
                self.client.log_text(run_id, content, name)

    def _check_stays(self, artifacts: str) -> None:
        """Check that a local store keeps files here.

        Raises:
            TrackingError: it would send them elsewhere.
        """
        is_elsewhere = _ADDRESS.match(artifacts) and not artifacts.startswith("file:///")
        if self.where.artifacts and is_elsewhere:
            raise TrackingError(
                f"{self.where} would send files elsewhere; name another store with --tracking"
            )

    def _prompts(self, run: Any, entry: Entry) -> list[dict[str, str]]:
        """Return what links prompts to a run: those that it used, or those that it compiled."""
        if entry.program is None:
            versions = map(self.client.parse_prompt_uri, entry.prompts)
            return [{"name": name, "version": version} for name, version in versions]
        if not self.texts:
            return []
        self._log_model(run.info, entry)
        model = re.sub(r"[^\w.-]+", "-", entry.parameters["model"])
        return [
            self._registered(f"groundset-{step.name}-{model}", step, entry, run.info)
            for name, step in entry.program.named_predictors()
            if name in entry.changed
        ]

    def _log_model(self, run: Any, entry: Entry) -> None:
        """Log a program as a model that ``mlflow.dspy.load_model`` opens."""
        import dspy
        import mlflow
        from mlflow.models import Model

        logged = self.client.create_logged_model(
            run.experiment_id, entry.experiment, run.run_id, model_type="dspy"
        )
        self._check_stays(logged.artifact_location)
        # MLflow saves the settings of DSPy, too, and sets them again: those of the compile.
        with dspy.context(lm=entry.lm, rm=None, adapter=None, callbacks=[]):
            Model.log(
                None,
                mlflow.dspy,
                run_id=run.run_id,
                model_id=logged.model_id,
                model=entry.program,
                pip_requirements=[f"groundset=={__version__}"],
                use_dspy_model_save=True,
            )

    def _registered(self, name: str, predictor: Any, entry: Entry, run: Any) -> dict[str, str]:
        """Register a version of a prompt, show it in its experiment, and return what links it to
        the compile.
        """
        from mlflow.prompt.constants import PROMPT_EXPERIMENT_IDS_TAG_KEY

        from groundset.programs.adapter import PLAIN_TEXT

        inputs = {field: f"{{{{{field}}}}}" for field in predictor.signature.input_fields}
        state = {"dspy_state": {predictor.name: predictor.dump_state()}}
        prompt = self.client.get_prompt(name) or self.client.create_prompt(name)
        made = self.client.create_prompt_version(
            name,
            PLAIN_TEXT.format(predictor.signature, predictor.demos, inputs),
            entry.name,
            tags={"run_id": run.run_id, _STATE: entry.states.get(predictor.name, "")},
            model_config={"extra_params": state},
        )
        shown_in = prompt.tags.get(PROMPT_EXPERIMENT_IDS_TAG_KEY, "").strip(",").split(",")
        experiments = ",".join(dict.fromkeys([*filter(None, shown_in), run.experiment_id]))
        self.client.set_prompt_tag(name, PROMPT_EXPERIMENT_IDS_TAG_KEY, f",{experiments},")
        return {"name": name, "version": str(made.version)}

    def registered(self, prompt: str) -> tuple[str, dict[str, Any]]:
        """Return the version that ``prompts:/NAME@ALIAS`` or ``prompts:/NAME/3`` names, and the
        states that were logged with it.

        Raises:
            StateError: there is no such prompt, or it has no states.
            TrackingError: the store failed.
        """
        with self._guarded():
            found = self.client.get_prompt_version(*self.client.parse_prompt_uri(prompt))
        settings: Any = (found and found.model_config) or {}
        states = (settings.get("extra_params") or {}).get("dspy_state")
        if not isinstance(states, dict):
            raise StateError(
                f"--compiled {prompt}: there is no such prompt in {self.where}, or none with a"
                f" state of DSPy, which `groundset compile` keeps; {VARIABLE} names a store"
            )
        return found.uri, states

    def version_of(self, state: str) -> str:
        """Return the newest version of a prompt that was registered with the hash of a state:
        ``prompts:/NAME/3``; empty if there is none.

        Raises:
            TrackingError: the store failed.
        """
        with self._guarded():
            from mlflow.prompt.constants import IS_PROMPT_TAG_KEY

            found = self.client.search_model_versions(
                f"tags.`{IS_PROMPT_TAG_KEY}` = 'true' AND tags.{_STATE} = '{state}'",
                max_results=1,
                order_by=["creation_timestamp DESC"],
            )
        return next((f"{REGISTRY}{each.name}/{each.version}" for each in found), "")

    def log_dataset(
        self, name: str, records: Sequence[dict[str, Any]], tags: Mapping[str, str]
    ) -> None:
        """Make or extend an evaluation dataset of MLflow.

        A question that it has gets the expectations and tags of its new record.

        Raises:
            InputError: a server must not have texts.
            TrackingError: the store failed.
        """
        if not self.texts:
            raise InputError(
                f"an evaluation dataset is texts; --track-texts sends them to {self.where.host}"
            )
        with self._guarded():
            from mlflow.exceptions import MlflowException
            from mlflow.genai.datasets import create_dataset, get_dataset
            from mlflow.utils.mlflow_tags import MLFLOW_USER

            nobody = {} if self.where.host is None else {MLFLOW_USER: "groundset"}
            try:
                dataset = get_dataset(name)
            except MlflowException:
                dataset = create_dataset(name, self._experiment(RUNS), nobody)
            self.client.set_dataset_tags(dataset.dataset_id, dict(tags))
            dataset.merge_records([row | {"tags": row["tags"] | nobody} for row in records])

    def _parameters(self, values: Mapping[str, Any]) -> dict[str, str]:
        """Return parameters as texts; a server gets only the last part of a path."""
        parameters = {}
        for name, value in values.items():
            text = without_secrets(str(value))
            if self.where.host:
                text = _PATH.sub(lambda path: PureWindowsPath(path[0]).name, text)
            parameters[name] = encodable(text)[:_LONGEST]
        return parameters

    def _experiment(self, name: str) -> str:
        """Return the id of an experiment, which is made if there is none."""
        known = self.client.get_experiment_by_name(name)
        artifacts = self.where.artifacts.absolute().as_uri() if self.where.artifacts else None
        return str(known.experiment_id if known else self.client.create_experiment(name, artifacts))

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """Make the store MLflow's own in the block, for functions that ask no other one; turn
        errors of MLflow and what it uses into one line without secrets, and silence its logs.
        """
        # MLflow warns of its own type hints when it is imported.
        with warnings.catch_warnings(action="ignore"):
            import mlflow
            from mlflow.exceptions import MlflowException
            from sqlalchemy.exc import SQLAlchemyError

            uri = mlflow.get_tracking_uri() if mlflow.is_tracking_uri_set() else None
            level = logging.root.manager.disable
            logging.disable(logging.WARNING)  # of the creation of tables, and models by pickle
            mlflow.set_tracking_uri(self.where.uri)
            try:
                yield
            except (
                MlflowException,
                SQLAlchemyError,
                OSError,  # those of requests, too
                NotImplementedError,
            ) as error:
                told = without_secrets(first_line(error)[:_LONGEST])
                raise TrackingError(f"tracking store {self.where}: {told}") from error
            finally:
                mlflow.set_tracking_uri(uri)
                logging.disable(level)


def _milliseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)
