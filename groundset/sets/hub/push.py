"""Publish a run on the Hugging Face Hub, or in a local folder as a dry run, without machine-specific data."""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from groundset.models.hub import PREFIX
from groundset.run import Run
from groundset.sets.exporting import check_set, exported_run
from groundset.sets.hub.card import MAIN, Publication, Reviews, licence_named
from groundset.sets.hub.folder import write_card, write_dry_run, write_tables
from groundset.stats import wilson
from programs.errors import InputError
from programs.types import Chunk

_BRANCH = re.compile(r"(?!refs/)(?!.*(\.\.|//|\.lock(/|$)))[A-Za-z0-9_][A-Za-z0-9_./-]*(?<![./])")


class Pushed(NamedTuple):
    """The result of a push.

    ``url`` and ``private`` are None for a dry run; ``changed`` lists the files of the commit, and is empty without one.
    """

    questions: int
    chunks: int
    url: str | None = None
    private: bool | None = None
    changed: tuple[str, ...] = ()


def push_run(
    run: Path,
    repo: str,
    *,
    licence: str,
    private: bool = False,
    branch: str = MAIN,
    signed: bool = False,
    dry_run: Path | None = None,
    notify: Callable[[str], object],
) -> Pushed:
    """Publish the samples and chunks of a run as a dataset with a card, in one commit.

    Only changed files are uploaded. Other files of the repository and manual edits of its card are kept. The token is
    read from HF_TOKEN or the Hub's token file.

    Args:
        run: the folder of a run.
        repo: ``owner/name``; created if missing.
        licence: a licence identifier of the Hub.
        private: create a private dataset.
        branch: created if missing.
        signed: only samples that a reviewer signed.
        dry_run: write everything to this folder instead, without contacting the Hub.
        notify: called with the host before anything is uploaded.

    Raises:
        InputError: an option or the run is invalid.
        HubError: the Hub cannot be reached or rejects a request; repeating the push is safe.
    """
    _check_repo(repo)
    if not _BRANCH.fullmatch(branch):
        raise InputError(f"--branch {branch}: not a valid branch name; use letters, digits, _, -, . and /")
    licence = licence_named(licence)
    published = with_portable_paths(exported_run(run, signed=signed))
    check_set(published)
    reviews = count_reviews(Run(run))
    publication = Publication(published, signed, public_record(published.record), reviews, repo, branch, licence)
    pushed = Pushed(len(published.samples), len(published.chunks))
    if dry_run is not None:
        write_dry_run(publication, dry_run)
        return pushed
    from groundset.sets.hub.hub import HubDataset, hub_session

    try:
        with TemporaryDirectory(prefix="groundset-") as temporary:
            folder = Path(temporary, "dataset")
            write_tables(publication, folder)
            with hub_session(repo) as session:
                dataset = HubDataset(session, repo, branch)
                dataset.prepare(private=private)
                write_card(publication, folder, dataset.download_card(Path(temporary)))
                changed = dataset.upload(folder, f"{pushed.questions} questions and {pushed.chunks} passages", notify)
    except OSError as error:
        raise InputError(f"cannot write temporary files (TMPDIR): {error.strerror or error}") from error
    return pushed._replace(url=dataset.url, private=dataset.is_private, changed=changed)


def _check_repo(repo: str) -> None:
    from huggingface_hub import utils
    from huggingface_hub.errors import HFValidationError

    hub: Any = utils
    invalid = InputError(f"--repo {repo}: must be owner/name; use letters, digits, ., - and _")
    try:
        hub.validate_repo_id(repo)
    except HFValidationError as error:
        raise invalid from error
    if "/" not in repo:
        raise invalid


def count_reviews(run: Run) -> Reviews | None:
    """Count the reviewed samples of a run by consensus; None without reviews."""
    verdicts = Counter(run.consensus[sample.id].verdict for sample in run if sample.id in run.consensus)
    share = wilson(verdicts["good"], verdicts.total())
    if share is None:
        return None
    percent = (round(100 * part) for part in (share.value, share.low, share.high))
    return Reviews(verdicts.total(), verdicts["good"], verdicts["bad"], verdicts["disputed"], *percent)


# Allow-list: new keys are not published by default.
_PUBLIC = (
    "accepted", "agenda", "alternatives", "asked", "attempts", "call_seconds", "calls", "chunks", "compiled",
    "completion_tokens", "configuration", "corpus", "counts", "critic", "critic_calls", "documents",
    "evaluated_tokens", "evolutions", "growth", "identity", "kinds", "models", "program", "prompt_tokens", "search",
    "seconds", "started",
)  # fmt: skip
# Configuration keys with paths, addresses and queries of users; `models` names the models.
_PRIVATE_OPTIONS = ("chunks", "compiled", "critic_lm", "documents", "embedder", "like", "lm", "parser", "vector_store")
_LOCAL_PATH = re.compile(r"[/\\~]|\.\.?[/\\]|[a-z]:[/\\]|[a-z][a-z0-9+.-]+://", re.IGNORECASE)


def public_record(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the published part of ``run.json``, without paths, document names and addresses."""
    public = {name: record[name] for name in _PUBLIC if name in record}
    if configuration := public.get("configuration"):
        public["configuration"] = {name: value for name, value in configuration.items() if name not in _PRIVATE_OPTIONS}
    if record.get("lineage"):
        public["lineage"] = _public_lineage(record["lineage"])
    return {name: _without_paths(value) for name, value in public.items()}


def _public_lineage(lineage: Mapping[str, Any]) -> dict[str, Any]:
    """Return the commands and parents of a lineage, without names of folders and files."""
    parents = []
    for parent in lineage["parents"]:
        nested = {"lineage": _public_lineage(parent["lineage"])} if parent.get("lineage") else {}
        parents.append({"identity": parent["identity"], "samples": parent["samples"], **nested})
    return {"command": lineage["command"], "parents": parents}


def with_portable_paths(run: Run) -> Run:
    """Replace absolute paths of chunks by file names."""
    samples = [sample.model_copy(update={"contexts": tuple(map(_portable, sample.contexts))}) for sample in run.samples]
    return run.replace(samples=samples, chunks=list(map(_portable, run.chunks)))


def _portable(chunk: Chunk) -> Chunk:
    is_local = _LOCAL_PATH.match(chunk.path)
    return chunk.model_copy(update={"path": _file_name(chunk.path)}) if is_local else chunk


def _without_paths(value: Any) -> Any:
    """Replace paths in a value by file names; model names such as ``owner/name`` stay."""
    if isinstance(value, Mapping):
        return {name: _without_paths(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return list(map(_without_paths, value))
    if not isinstance(value, str):
        return value
    if _LOCAL_PATH.match(value):
        return _file_name(value)
    # Merged runs join the names of models with "and".
    return " and ".join(_file_name(name) if _is_path(name) else name for name in value.split(" and "))


def _is_path(name: str) -> bool:
    if name.startswith(PREFIX):  # a file on the Hub
        return False
    return bool(_LOCAL_PATH.match(name)) or name.count("/") > 1 or name.lower().endswith(".gguf")


def _file_name(path: str) -> str:
    return re.split(r"[/\\]", path.rstrip("/\\"))[-1]
