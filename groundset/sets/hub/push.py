"""A run on the Hugging Face Hub, or in a folder as it would be there."""

import re
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from groundset.sets.exporting import check_set, exported_run
from groundset.sets.hub.card import MAIN, Publication, licence_named
from groundset.sets.hub.folder import write_card, write_dry, write_tables
from groundset.sets.hub.provenance import count_readers, public_record, without_machine
from programs.errors import InputError

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

    Only files that have changed are sent. What else the repository holds stays, and so does what a person wrote on its
    card. The token comes from where the Hub's own tools keep it.

    Args:
        run: the folder of a run.
        repo: ``owner/name``; made if it is not there.
        licence: an identifier that the Hub knows.
        private: only for who may see the owner's private repositories.
        branch: made if it is not there.
        signed: only samples that a reader signed.
        dry_run: a folder for everything that would be sent; nobody is asked anything then.
        notify: is called with a line that says who gets texts, before they do.

    Raises:
        InputError: an option or the run is wrong.
        HubError: the Hub cannot be reached, or refuses something; giving the same command again is safe.
    """
    _check_repo(repo)
    if not _BRANCH.fullmatch(branch):
        raise InputError(f"--branch {branch}: no name of a branch; letters, digits, _, -, . and / make one")
    publication = _read(run, repo, branch, licence_named(licence), signed)
    pushed = Pushed(len(publication.run.samples), len(publication.run.chunks))
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


def _read(folder: Path, repo: str, branch: str, licence: str, signed: bool) -> Publication:
    from groundset.run import Run

    run = without_machine(exported_run(folder, signed=signed))
    check_set(run)
    return Publication(
        run=run,
        signed=signed,
        record=public_record(run.record),
        readers=count_readers(Run(folder)),
        repo=repo,
        branch=branch,
        licence=licence,
    )


def _check_repo(repo: str) -> None:
    from huggingface_hub import utils
    from huggingface_hub.errors import HFValidationError

    hub: Any = utils
    wrong = InputError(f"--repo {repo}: owner/name is expected, both of letters, digits, -, _ and ")
    try:
        hub.validate_repo_id(repo)
    except HFValidationError as error:
        raise wrong from error
    if "/" not in repo:
        raise wrong
