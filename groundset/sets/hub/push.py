"""A run on the Hugging Face Hub, or in a folder as it would be there, without what concerns only this machine."""

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
from groundset.sets.hub.folder import write_card, write_dry, write_tables
from groundset.stats import wilson
from programs.errors import InputError
from programs.types import Chunk

_BRANCH = re.compile(r"(?!refs/)(?!.*(\.\.|//|\.lock(/|$)))[A-Za-z0-9_][A-Za-z0-9_./-]*(?<![./])")


class Pushed(NamedTuple):
    """What a push came to.

    ``url`` and ``private`` say where it is and whether others see it, None of a dry run; ``changed`` names the files of
    the commit, none if the Hub held all of them already.
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
    """Put the samples and chunks of a run on the Hub as a dataset with a card, in one commit.

    Only files that have changed are sent. Other files of the repository stay, and so does what a person wrote on its
    card. The token comes from where the Hub's own tools keep it.

    Args:
        run: the folder of a run.
        repo: ``owner/name``; made if it is not there.
        licence: an identifier that the Hub knows.
        private: make it a private dataset.
        branch: made if it is not there.
        signed: only samples that a reviewer signed.
        dry_run: a folder for everything that would be sent; the Hub is not asked then.
        notify: called with the host that gets texts, before it gets them.

    Raises:
        InputError: an option or the run is wrong.
        HubError: the Hub cannot be reached, or refuses something; repeating the command is safe.
    """
    _check_repo(repo)
    if not _BRANCH.fullmatch(branch):
        raise InputError(f"--branch {branch}: not the name of a branch; use letters, digits, _, -, . and /")
    licence = licence_named(licence)
    published = without_machine(exported_run(run, signed=signed))
    check_set(published)
    reviews = count_reviews(Run(run))
    publication = Publication(published, signed, public_record(published.record), reviews, repo, branch, licence)
    pushed = Pushed(len(published.samples), len(published.chunks))
    if dry_run is not None:
        write_dry(publication, dry_run)
        return pushed
    from groundset.sets.hub.hub import HubDataset, asking_the_hub

    try:
        with TemporaryDirectory(prefix="groundset-") as aside:
            folder = Path(aside, "dataset")
            write_tables(publication, folder)
            with asking_the_hub(repo) as asking:
                dataset = HubDataset(asking, repo, branch)
                dataset.prepare(private=private)
                write_card(publication, folder, dataset.card(Path(aside)))
                changed = dataset.upload(folder, f"{pushed.questions} questions and {pushed.chunks} passages", notify)
    except OSError as error:
        raise InputError(f"cannot write temporary files (TMPDIR): {error.strerror or error}") from error
    return pushed._replace(url=dataset.url, private=dataset.is_private, changed=changed)


def _check_repo(repo: str) -> None:
    from huggingface_hub import utils
    from huggingface_hub.errors import HFValidationError

    hub: Any = utils
    wrong = InputError(f"--repo {repo}: owner/name is expected, both of letters, digits and the signs . - _")
    try:
        hub.validate_repo_id(repo)
    except HFValidationError as error:
        raise wrong from error
    if "/" not in repo:
        raise wrong


def count_reviews(run: Run) -> Reviews | None:
    """Count the consensus of the reviewers of a run's samples, None if nobody reviewed one."""
    verdicts = Counter(run.consensus[sample.id].verdict for sample in run if sample.id in run.consensus)
    share = wilson(verdicts["good"], verdicts.total())
    if share is None:
        return None
    percent = (round(100 * part) for part in (share.value, share.low, share.high))
    return Reviews(verdicts.total(), verdicts["good"], verdicts["bad"], verdicts["disputed"], *percent)


# The keys of run.json that are published; a key that is added later stays here until it is named.
_PUBLIC = (
    "accepted", "agenda", "alternatives", "asked", "attempts", "call_seconds", "calls", "chunks", "compiled",
    "completion_tokens", "configuration", "corpus", "counts", "critic", "critic_calls", "documents",
    "evaluated_tokens", "evolutions", "growth", "identity", "kinds", "models", "program", "prompt_tokens", "seconds",
    "started", "window",
)  # fmt: skip
# Of the configuration: files, folders and addresses. `models` names the models.
_PLACES = ("chunks", "compiled", "critic_lm", "documents", "embedder", "lm", "parser", "vector_store")
_ON_THIS_MACHINE = re.compile(r"[/\\~]|\.\.?[/\\]|[a-z]:[/\\]|[a-z][a-z0-9+.-]+://", re.IGNORECASE)


def public_record(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of ``run.json`` that is published: no paths, no names of documents, no addresses."""
    public = {name: record[name] for name in _PUBLIC if name in record}
    if configuration := public.get("configuration"):
        public["configuration"] = {name: value for name, value in configuration.items() if name not in _PLACES}
    if record.get("lineage"):
        public["lineage"] = _public_lineage(record["lineage"])
    return {name: _without_paths(value) for name, value in public.items()}


def _public_lineage(lineage: Mapping[str, Any]) -> dict[str, Any]:
    """Return which command made a run of which others, without the names of folders and files."""
    parents = []
    for parent in lineage["parents"]:
        own = {"lineage": _public_lineage(parent["lineage"])} if parent.get("lineage") else {}
        parents.append({"identity": parent["identity"], "samples": parent["samples"], **own})
    return {"command": lineage["command"], "parents": parents}


def without_machine(run: Run) -> Run:
    """Return a run whose chunks name files as any machine would; chunks that somebody brought may hold whole paths."""
    samples = [sample.model_copy(update={"contexts": tuple(map(_portable, sample.contexts))}) for sample in run.samples]
    return run.replace(samples=samples, chunks=list(map(_portable, run.chunks)))


def _portable(chunk: Chunk) -> Chunk:
    is_portable = not _ON_THIS_MACHINE.match(chunk.path)
    return chunk if is_portable else chunk.model_copy(update={"path": _file_name(chunk.path)})


def _without_paths(value: Any) -> Any:
    """Return a value in which a path has become the name of its file; a model such as ``owner/name`` is no path."""
    if isinstance(value, Mapping):
        return {name: _without_paths(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return list(map(_without_paths, value))
    if not isinstance(value, str):
        return value
    if _ON_THIS_MACHINE.match(value):
        return _file_name(value)
    # The name of a model of a merged run holds those of all.
    return " and ".join(_file_name(name) if _is_path(name) else name for name in value.split(" and "))


def _is_path(name: str) -> bool:
    if name.startswith(PREFIX):  # a file of the Hub: weights of this machine are called by their last name
        return False
    return bool(_ON_THIS_MACHINE.match(name)) or name.count("/") > 1 or name.lower().endswith(".gguf")


def _file_name(path: str) -> str:
    return re.split(r"[/\\]", path.rstrip("/\\"))[-1]
