"""Runs and compiles in MLflow 3: by default in a SQLite file of this project or of the user.

A run of groundset is a run of the experiment ``groundset-generate``, a compile one of
``groundset-<step>``. Texts go to local stores only, unless they are asked for. Aliases, comparison
and the page are MLflow's own.
"""

import hashlib
import logging
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path, PureWindowsPath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from platformdirs import user_data_path

from groundset.files import encodable, json_text, write_text
from groundset.privacy import without_secrets
from groundset.programs.errors import InputError, StateError, TrackingError, first_line

if TYPE_CHECKING:
    from groundset.compiling import Report
    from groundset.run.run import Run

FOLDER, RUNS = "mlruns", "groundset-generate"
VARIABLE = "MLFLOW_TRACKING_URI"
SQLITE = "sqlite:///"
# Two letters or more: not a Windows drive.
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+:", re.IGNORECASE)
_PATH = re.compile(r"(?:^|(?<=:))(?:[A-Za-z]:)?(?:~[^/\\]*|\.{1,2})?[/\\].*", re.DOTALL)
_LONGEST = 500  # characters of a parameter
_EXPERIMENTS = "_mlflow_experiment_ids"  # the tag that shows a prompt in an experiment's list
_LINKED = "mlflow.linkedPrompts"  # the tag that shows prompts in a run
# By default MLflow retries an unreachable server for ten minutes and shows a progress bar for each
# file.
_PATIENCE = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "20",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
}
_COUNTS = ("accepted", "asked", "attempts", "surplus", "alternatives", "documents", "chunks")
_USAGE = (
    "calls",
    "replayed",
    "prompt_tokens",
    "cached_tokens",
    "generated_tokens",
    "call_seconds",
    "seconds",
)
# What a server need not know of a run.
_PRIVATE = ("documents", "chunks", "questions", "about", "like", "personas", "profile_file")
_TRACES_AT_ONCE, _MOST_TRACES = 100, 10_000


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
            # It would show prompts in the active experiment of the notebook, too, from a thread
            # that nobody waits for.
            self.client._link_prompt_to_experiment = lambda *_: None

    def inputs_of_traces(self, experiment: str) -> list[Any]:
        """Return the inputs of the root spans of the newest traces of an experiment, the newest
        first.

        Raises:
            InputError: there is no such experiment.
            TrackingError: the store failed.
        """
        found: list[Any] = []
        with self._guarded():
            known = self.client.get_experiment_by_name(experiment)
            if known is None:
                raise InputError(
                    f"{self.where}: there is no experiment {experiment}; name one as URI#EXPERIMENT"
                )
            token, seen = None, 0
            while seen < _MOST_TRACES:
                page = self.client.search_traces(
                    locations=[known.experiment_id], max_results=_TRACES_AT_ONCE, page_token=token
                )
                spans = (span for each in page for span in each.data.spans)
                found += [span.inputs for span in spans if span.parent_id is None]
                token, seen = page.token, seen + len(page)
                if not token:
                    break
        return found

    def log_run(self, run: "Run") -> str:
        """Log a run and return a line about it; a run that grew is logged again, in the same run of
        MLflow.

        Raises:
            TrackingError: the store failed.
        """
        record = run.record
        key = hashlib.sha256(f"{run.folder.absolute()} {record['started']}".encode()).hexdigest()
        with (
            self._guarded(),
            self._running(RUNS, run.folder.name, {"key": key}) as (run_id, is_new),
        ):
            parameters = self._run_parameters(record) if is_new else {}
            self._log(run_id, parameters, _run_metrics(run), len(run))
            if self.texts and len(run):
                self._log_samples(run_id, run)
        return self._line(run_id)

    def log_compile(self, report: "Report", parameters: Mapping[str, Any]) -> str:
        """Log a compile with its parameters and return a line about it.

        Each candidate becomes an artifact, and the prompt of each compiled step a version of a
        registered prompt.

        Raises:
            TrackingError: the store failed.
        """
        experiment, name = f"groundset-{report.step}", f"{report.model} {report.optimizer}"
        status = "KILLED" if report.ending == "interrupted" else "FINISHED"
        with (
            self._guarded(),
            self._running(experiment, name, {"step": report.step}, status) as (run_id, _),
        ):
            settings = self._parameters({**parameters, "model": report.model})
            self._log(run_id, settings, report.figures)
            self._log_candidates(run_id, report)
            prompts = self._log_states(run_id, report, name) if self.texts else []
        versions = [f"prompts:/{prompt['name']}/{prompt['version']}" for prompt in prompts]
        return ", ".join([self._line(run_id), *versions])

    def _log_candidates(self, run_id: str, report: "Report") -> None:
        with TemporaryDirectory() as folder:
            for candidate in report.candidates:
                number, scores = candidate.number, candidate.scores.values()
                if scores:
                    mean = sum(scores) / len(scores)
                    self.client.log_metric(run_id, "candidate", mean, step=number)
                if self.texts:
                    file = Path(folder, f"{number:03}.json")
                    write_text(file, json_text(asdict(candidate), indent=1))
                    self.client.log_artifact(run_id, str(file), "candidates")

    def _log_states(self, run_id: str, report: "Report", message: str) -> list[dict[str, str]]:
        """Log what was written, and return what links its prompts to the compile."""
        for file in report.files:
            self.client.log_artifact(run_id, str(file))
        model = re.sub(r"[^\w.-]+", "-", report.model)
        is_written = report.files and report.program
        links = [
            self._registered(f"groundset-{step.name}-{model}", step, message, run_id)
            for step in (report.program.predictors() if is_written else ())
        ]
        # Not by the client, which looks for the run in the store of the notebook.
        self.client.set_tag(run_id, _LINKED, json_text(links))
        return links

    def _registered(self, name: str, predictor: Any, message: str, run_id: str) -> dict[str, str]:
        """Register a version of a prompt, show it in its experiment, and return what links it to
        the compile.
        """
        from groundset.programs.adapter import PLAIN_TEXT

        inputs = {field: f"{{{{{field}}}}}" for field in predictor.signature.input_fields}
        template = PLAIN_TEXT.format(predictor.signature, predictor.demos, inputs)
        state = {"dspy_state": {predictor.name: predictor.dump_state()}}
        version = self.client.register_prompt(
            name,
            template,
            commit_message=message,
            tags={"run_id": run_id},
            model_config={"extra_params": state},
        ).version
        shown_in = self.client.get_prompt(name).tags.get(_EXPERIMENTS, "").strip(",").split(",")
        experiment = self.client.get_run(run_id).info.experiment_id
        experiments = dict.fromkeys([*filter(None, shown_in), experiment])
        self.client.set_prompt_tag(name, _EXPERIMENTS, f",{','.join(experiments)},")
        return {"name": name, "version": str(version)}

    def registered(self, prompt: str) -> dict[str, Any]:
        """Return the states that :meth:`log_compile` kept with a prompt: ``prompts:/NAME@ALIAS``,
        ``prompts:/NAME/3``.

        Raises:
            StateError: there is no such prompt, or it has no states.
            TrackingError: the store failed.
        """
        with self._guarded():
            version = self.client.load_prompt(prompt, allow_missing=True, cache_ttl_seconds=0)
        if version is None:
            raise StateError(
                f"--compiled {prompt}: there is no such prompt in {self.where};"
                f" {VARIABLE} names a store"
            )
        states = ((version.model_config or {}).get("extra_params") or {}).get("dspy_state")
        if not isinstance(states, dict):
            raise StateError(
                f"--compiled {prompt}: has no state of DSPy,"
                " which `groundset compile` keeps with a prompt"
            )
        return states

    def log_dataset(
        self, name: str, records: Sequence[dict[str, Any]], tags: Mapping[str, str]
    ) -> Any:
        """Make or extend an evaluation dataset of MLflow, and return it with its records.

        A question that it has gets the expectations and tags of its new record.

        Raises:
            InputError: its name cannot be searched for, or a server must not have texts.
            TrackingError: the store failed.
        """
        if not self.texts:
            raise InputError(
                f"an evaluation dataset is texts; --track-texts sends them to {self.where.host}"
            )
        if not name or '"' in name:
            raise InputError(f"an evaluation dataset cannot be called {name!r}")
        with self._guarded():
            from mlflow.genai.datasets import EvaluationDataset

            # Not by the functions of MLflow, which look for the store of the notebook and add the
            # name of the user.
            store, experiment = self.client._tracking_client.store, self._experiment(RUNS)
            known = self.client.search_datasets(filter_string=f'name = "{name}"', max_results=1)
            first = known[0] if known else store.create_dataset(name, experiment_ids=[experiment])
            key = first.dataset_id
            self.client.set_dataset_tags(key, dict(tags))
            store.upsert_dataset_records(key, list(records))
            dataset = self.client.get_dataset(key)
            # What MLflow would ask the store of the notebook for later.
            dataset._records, _ = store._load_dataset_records(key, max_results=None)
            dataset.experiment_ids = store.get_dataset_experiment_ids(key)
            return EvaluationDataset(dataset)

    def _log_samples(self, run_id: str, run: "Run") -> None:
        """Log the samples as an artifact, and as the dataset of the run: questions, answers and
        contexts.
        """
        import mlflow
        from mlflow.data.code_dataset_source import CodeDatasetSource
        from mlflow.entities import DatasetInput, InputTag
        from mlflow.utils.mlflow_tags import MLFLOW_DATASET_CONTEXT

        facts = ["evolution", "language", "probability"]
        table = run.to_pandas()[["id", "question", "answer", "contexts", "chunk_ids", *facts]]
        table = table.astype({"contexts": str, "chunk_ids": str})
        source = CodeDatasetSource({"groundset": "generate", "run": run.folder.name})
        dataset = mlflow.data.from_pandas(
            table, source=source, name=run.folder.name, targets="answer"
        )
        context = InputTag(MLFLOW_DATASET_CONTEXT, "evaluation")
        self.client.log_inputs(run_id, [DatasetInput(dataset._to_mlflow_entity(), [context])])
        for name in ("samples.jsonl", "run.json"):
            self.client.log_artifact(run_id, str(run.folder / name))

    def _run_parameters(self, record: Mapping[str, Any]) -> dict[str, str]:
        hidden = _PRIVATE if self.where.host else ()
        settings = {
            name: value
            for name, value in record["configuration"].items()
            if value not in (None, "", [], {}) and name not in hidden
        }
        for role, model in record.get("models", {}).items():
            settings |= {role: model["name"], f"{role}_sha256": model.get("sha256") or ""}
        for name, version in record.get("versions", {}).items():
            settings[f"version.{name}"] = version
        settings["compiled_steps"] = ", ".join(record.get("compiled", {}))
        return self._parameters(settings)

    def _parameters(self, values: Mapping[str, Any]) -> dict[str, str]:
        """Return parameters as texts; a server gets only the last part of a path."""
        parameters = {}
        for name, value in values.items():
            text = without_secrets(str(value))
            if self.where.host:
                text = _PATH.sub(lambda path: PureWindowsPath(path[0]).name, text)
            parameters[re.sub(r"[^\w.\- ]", "_", name)] = encodable(text)[:_LONGEST]
        return parameters

    def _log(
        self,
        run_id: str,
        parameters: Mapping[str, str],
        metrics: Mapping[str, float],
        step: int = 0,
    ) -> None:
        for name, text in parameters.items():
            self.client.log_param(run_id, name, text)
        for name, value in metrics.items():
            self.client.log_metric(run_id, name, value, step=step)

    def _experiment(self, name: str) -> str:
        """Return the id of an experiment, which is made if there is none."""
        known = self.client.get_experiment_by_name(name)
        artifacts = self.where.artifacts.absolute().as_uri() if self.where.artifacts else None
        return str(known.experiment_id if known else self.client.create_experiment(name, artifacts))

    @contextmanager
    def _running(
        self, name: str, run: str, tags: Mapping[str, str], status: str = "FINISHED"
    ) -> Iterator[tuple[str, bool]]:
        """Yield the run of an experiment with a key, or else a new one, and whether it is new; end
        it with a status.
        """
        from mlflow.store.artifact.local_artifact_repo import LocalArtifactRepository
        from mlflow.tracking.context.registry import resolve_tags

        experiment, before = self._experiment(name), []
        if "key" in tags:
            same = f"tags.key = '{tags['key']}'"
            before = self.client.search_runs([experiment], same, max_results=1)
        # MLflow's tags about user and program are for local stores.
        all_tags = dict(tags) if self.where.host else resolve_tags(dict(tags))
        (entity,) = before or [
            self.client.create_run(experiment, tags=all_tags, run_name=encodable(run))
        ]
        run_id, ended = str(entity.info.run_id), "FAILED"
        try:
            if self.where.artifacts:
                # MLflow keeps what it returns, so that a trigger in the database cannot change it
                # later.
                files = self.client._tracking_client._get_artifact_repo(run_id)
                if not isinstance(files, LocalArtifactRepository):
                    raise TrackingError(
                        f"{self.where} would send files elsewhere;"
                        " name another store with --tracking"
                    )
            yield run_id, not before
            ended = status
        finally:
            self.client.set_terminated(run_id, ended)

    def _line(self, run_id: str) -> str:
        line = f"MLflow run {run_id} in {self.where}"
        if self.texts:
            return line
        return f"{line} (figures only; --track-texts sends texts to {self.where.host})"

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """Turn errors of MLflow and what it uses into one line without secrets, and silence its
        logs.
        """
        from mlflow.exceptions import MlflowException
        from requests.exceptions import RequestException
        from sqlalchemy.exc import SQLAlchemyError

        # They log the creation of tables.
        loggers = [logging.getLogger(name) for name in ("mlflow", "alembic")]
        levels = [logger.level for logger in loggers]
        for logger in loggers:
            logger.setLevel(logging.ERROR)
        try:
            yield
        except (
            MlflowException,
            RequestException,
            SQLAlchemyError,
            OSError,
            NotImplementedError,
        ) as error:
            first = first_line(error)[:_LONGEST]
            raise TrackingError(f"tracking store {self.where}: {without_secrets(first)}") from error
        finally:
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)


def _run_metrics(run: "Run") -> dict[str, float]:
    """Return some twenty figures of a run."""
    record, samples = run.record, run.samples
    counts = {name: record.get(name) for name in (*_COUNTS, *_USAGE)}
    metrics = {name: float(count) for name, count in counts.items() if count is not None}
    metrics["rejects"] = float(len(run.rejects))
    if samples:
        for name in ("calls", "prompt_tokens"):
            metrics[f"{name}_per_sample"] = metrics.get(name, 0.0) / len(samples)
        first = sum(sample.retrieval.rank == 1 for sample in samples)
        metrics["found_first"] = first / len(samples)
        known = [sample.probability for sample in samples if sample.probability is not None]
        if known:
            metrics["mean_probability"] = sum(known) / len(known)
    for step, decisions in record.get("counts", {}).items():
        if decisions["refused"]:
            metrics[f"refused_by_{step}"] = float(decisions["refused"])
    return metrics
