"""A dataset on the Hugging Face Hub: what is there, and one commit that brings it up to date.

`huggingface_hub` speaks to the Hub. Files go by its plain protocol for large files rather than by Xet, which not every
endpoint speaks: they are small. The commit comes last and names the one that it follows, so that whatever breaks off
before leaves the dataset as it was, and what was sent is not sent again.
"""

import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from groundset import __version__
from groundset.folders import fits
from groundset.models.download import human_size
from groundset.models.http_limits import UnusableAnswerError
from groundset.models.hub_client import hub_address, hub_token, online, quiet_client
from groundset.privacy import without_secrets
from groundset.progress import counted
from groundset.sets.hub.card import MAIN
from groundset.sets.hub.folder import CARD, DATA, read_card
from programs.errors import GroundsetError, HubError, InputError

_KIND = "dataset"
_ANSWER = 120.0  # seconds
_ANSWER_BYTES = 64 * 2**20  # a listing of as many files as follow takes a fraction
_OF_THE_CLIENT = (OSError, ValueError, RuntimeError, KeyError)
_MOST_FILES = 100_000  # the Hub advises against more in one repository
_ON_CARD = "Warnings while validating metadata"


class Asking(NamedTuple):
    """The Hub's client, the address that it asks, without secrets, and the host of that."""

    api: Any
    endpoint: str
    host: str


@contextmanager
def asking_the_hub(repo: str) -> Iterator[Asking]:
    """Yield the Hub's client with the user's token; every failure in the block is an error of one line."""
    import httpx
    from huggingface_hub import HfApi

    endpoint, host = hub_address()
    token: str | None = None
    try:
        with online(), quiet_client(_ANSWER, _ANSWER_BYTES):
            token = hub_token()
            if not token:
                raise HubError("there is no token for the Hub: set HF_TOKEN, or give `hf auth login`")
            api = HfApi(endpoint=endpoint, token=token, library_name="groundset", library_version=__version__)
            yield Asking(api, without_secrets(endpoint), host)
    except GroundsetError:
        raise
    except (httpx.HTTPError, httpx.InvalidURL, UnusableAnswerError, *_OF_THE_CLIENT) as error:
        raise explained(error, repo, host, token) from error


class HubDataset:
    """One branch of a dataset on the Hub.

    Attributes:
        url: its page.
        is_private: whether only the owner's people see it, once it was prepared.
    """

    def __init__(self, asking: Asking, repo: str, branch: str) -> None:
        """Name it; nothing is asked yet."""
        self.url = f"{asking.endpoint}/datasets/{repo}{'' if branch == MAIN else f'/tree/{quote(branch, safe=str())}'}"
        self.is_private = False
        self._host, self._api = asking.host, asking.api
        self._repo, self._branch = repo, branch
        self._commit = ""
        self._there: dict[str, Any] = {}

    def prepare(self, *, private: bool) -> None:
        """Make the repository and the branch if they are missing, and list the files of the branch."""
        from huggingface_hub.hf_api import RepoFile

        self._api.create_repo(self._repo, repo_type=_KIND, private=private or None, exist_ok=True)
        info = self._api.dataset_info(self._repo)
        if private and not info.private:
            raise InputError(f"--private: everybody sees {self.url}; make it private in its settings, or name another")
        if self._branch != MAIN:
            self._api.create_branch(self._repo, repo_type=_KIND, branch=self._branch, exist_ok=True)
            info = self._api.dataset_info(self._repo, revision=self._branch)
        self.is_private, self._commit = bool(info.private), str(info.sha)
        tree = iter(self._api.list_repo_tree(self._repo, repo_type=_KIND, revision=self._commit, recursive=True))
        self._there = {entry.path: entry for entry in islice(tree, _MOST_FILES) if isinstance(entry, RepoFile)}
        if next(tree, None) is not None:
            raise HubError(f"{self.url} lists more than {_MOST_FILES} files; name another repository")

    def card(self, aside: Path) -> str:
        """Return the card on the Hub, empty if there is none; it is downloaded to the folder ``aside``."""
        if CARD not in self._there:
            return ""
        file = self._api.hf_hub_download(self._repo, CARD, repo_type=_KIND, revision=self._commit, local_dir=aside)
        return read_card(Path(file), self.url)

    def upload(self, folder: Path, what: str, notify: Callable[[str], object]) -> tuple[str, ...]:
        """Make the dataset hold what a folder does, in one commit, and return the paths that it changes.

        Tables of an earlier version that are not in the folder go; other files stay. ``what`` names the content in the
        message of the commit; ``notify`` is called with who gets texts, before they do.
        """
        from huggingface_hub import CommitOperationAdd, CommitOperationDelete

        there = self._there
        paths = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
        changed = [path for path in paths if path not in there or not _is_same(there[path], folder / path)]
        gone = [path for path in there if path not in paths and any(fits(path, pattern) for pattern in DATA)]
        if not changed and not gone:
            return ()
        size = sum((folder / path).stat().st_size for path in changed)
        notify(f"Texts go to {self._host}.")
        notify(f"Sending {counted(len(changed), 'file')} ({human_size(size)}).")
        with ExitStack() as stack, warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            # What is open goes by the plain protocol.
            added = [CommitOperationAdd(path, stack.enter_context((folder / path).open("rb"))) for path in changed]
            self._api.create_commit(
                self._repo,
                [*added, *map(CommitOperationDelete, gone)],
                repo_type=_KIND,
                revision=self._branch,
                commit_message=f"Evaluation set of {what}",
                parent_commit=self._commit,
            )
        for warning in warned:
            if str(warning.message).startswith(_ON_CARD):
                notify(f"The Hub says of the card: {' '.join(str(warning.message).split())}")
        return (*changed, *gone)


def _is_same(there: Any, file: Path) -> bool:
    """Return whether a file on the Hub holds the bytes of one here, by the hash that the Hub knows it by."""
    from huggingface_hub.utils.sha import git_hash, sha_fileobj

    if there.lfs is None:
        return bool(there.blob_id == git_hash(file.read_bytes()))
    with file.open("rb") as stream:
        return bool(there.lfs.sha256 == sha_fileobj(stream).hex())


_AGAIN = "give the same command again"
_BY_STATUS = {
    401: "{host} refuses the token; set HF_TOKEN to one that may write, or give `hf auth login`",
    403: "the token may not write to {repo}; set HF_TOKEN to one that may, or name a repository of your own",
    404: "{host} knows no {repo}, or not for this token; mind how owner and branch are spelt",
    409: f"{{repo}} is being changed by somebody else; {_AGAIN}",
    412: f"{{repo}} was changed meanwhile; {_AGAIN}",
    413: "{host} finds the set too large",
    429: f"{{host}} was asked too much; wait a few minutes and {_AGAIN}",
}


def explained(error: BaseException, repo: str, host: str, token: str | None) -> HubError:
    """Return what the Hub's client raised as one line, without the token."""
    message = without_secrets(_describe(error, repo, host))
    return HubError(message.replace(token, "(the token)") if token else message)


def _describe(error: BaseException, repo: str, host: str) -> str:
    import httpx
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, OfflineModeIsEnabled

    cause = error.__cause__
    if isinstance(error, OfflineModeIsEnabled):
        return "HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE keeps this process from the Hub; unset it"
    if isinstance(error, HfHubHTTPError):
        return _refused(error, repo, host)
    if isinstance(error, RuntimeError | LocalEntryNotFoundError) and cause is not None:
        return _describe(cause, repo, host)  # of one file among several, or of one that was to be fetched
    if isinstance(error, httpx.HTTPError | httpx.InvalidURL | ConnectionError | TimeoutError):
        return f"{host} cannot be reached ({str(error) or type(error).__name__}); once it can, {_AGAIN}"
    if isinstance(error, OSError):
        return f"a file of this machine cannot be used: {error}"
    if isinstance(error, UnusableAnswerError):
        return f"{host} {error}; mind HF_ENDPOINT"
    if str(error).startswith("Invalid metadata"):
        return f"{host} refuses the card: {error}"
    return f"{host} does not answer as the Hub does ({type(error).__name__}: {error}); mind HF_ENDPOINT"


def _refused(error: Any, repo: str, host: str) -> str:
    status, answer = error.response.status_code, error.server_message
    if status in _BY_STATUS:
        return _BY_STATUS[status].format(host=host, repo=repo)
    if status >= 500:
        return f"{host} failed ({status}); {repo} is whole: {_AGAIN}"
    return f"{host} refuses it ({status}{f': {answer}' if answer else ''})"
