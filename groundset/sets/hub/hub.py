"""Update a dataset on the Hugging Face Hub in a single commit.

Files are uploaded with Git LFS rather than Xet, which not all endpoints support. The commit comes last and names its
parent, so an interrupted push leaves the dataset unchanged, and uploaded files are not sent again.
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

_REPO_TYPE = "dataset"
_TIMEOUT = 120.0  # seconds
_MAX_RESPONSE_BYTES = 64 * 2**20  # listing _MAX_FILES files takes a fraction
_CLIENT_ERRORS = (OSError, ValueError, RuntimeError, KeyError)
_MAX_FILES = 100_000  # the Hub advises against more in one repository
_CARD_WARNING = "Warnings while validating metadata"


class HubSession(NamedTuple):
    """The Hub's client, its endpoint without secrets, and the host."""

    api: Any
    endpoint: str
    host: str


@contextmanager
def hub_session(repo: str) -> Iterator[HubSession]:
    """Yield the Hub's client with the user's token; turn its exceptions into a HubError."""
    import httpx
    from huggingface_hub import HfApi

    endpoint, host = hub_address()
    token: str | None = None
    try:
        with online(), quiet_client(_TIMEOUT, _MAX_RESPONSE_BYTES):
            token = hub_token()
            if not token:
                raise HubError("no token for the Hub; set HF_TOKEN or run `hf auth login`")
            api = HfApi(endpoint=endpoint, token=token, library_name="groundset", library_version=__version__)
            yield HubSession(api, without_secrets(endpoint), host)
    except GroundsetError:
        raise
    except (httpx.HTTPError, httpx.InvalidURL, UnusableAnswerError, *_CLIENT_ERRORS) as error:
        message = without_secrets(_describe(error, repo, host))
        raise HubError(message.replace(token, "(the token)") if token else message) from error


class HubDataset:
    """One branch of a dataset on the Hub.

    Attributes:
        url: its page.
        is_private: whether it is private, set by ``prepare``.
    """

    def __init__(self, session: HubSession, repo: str, branch: str) -> None:
        """Initialise without any request."""
        self.url = f"{session.endpoint}/datasets/{repo}{'' if branch == MAIN else f'/tree/{quote(branch, safe=str())}'}"
        self.is_private = False
        self._host, self._api = session.host, session.api
        self._repo, self._branch = repo, branch
        self._commit = ""
        self._files: dict[str, Any] = {}

    def prepare(self, *, private: bool) -> None:
        """Create the repository and the branch if they are missing, and list the files of the branch."""
        from huggingface_hub.hf_api import RepoFile

        self._api.create_repo(self._repo, repo_type=_REPO_TYPE, private=private or None, exist_ok=True)
        info = self._api.dataset_info(self._repo)
        if private and not info.private:
            raise InputError(
                f"--private: {self.url} is public; make it private in its settings, or name another --repo"
            )
        if self._branch != MAIN:
            self._api.create_branch(self._repo, repo_type=_REPO_TYPE, branch=self._branch, exist_ok=True)
            info = self._api.dataset_info(self._repo, revision=self._branch)
        self.is_private, self._commit = bool(info.private), str(info.sha)
        tree = iter(self._api.list_repo_tree(self._repo, repo_type=_REPO_TYPE, revision=self._commit, recursive=True))
        self._files = {entry.path: entry for entry in islice(tree, _MAX_FILES) if isinstance(entry, RepoFile)}
        if next(tree, None) is not None:
            raise HubError(f"{self.url} lists more than {_MAX_FILES} files; name another repository")

    def download_card(self, folder: Path) -> str:
        """Download the card to ``folder`` and return its text, empty if there is none."""
        if CARD not in self._files:
            return ""
        file = self._api.hf_hub_download(
            self._repo, CARD, repo_type=_REPO_TYPE, revision=self._commit, local_dir=folder
        )
        return read_card(Path(file), self.url)

    def upload(self, folder: Path, content: str, notify: Callable[[str], object]) -> tuple[str, ...]:
        """Upload the changed files of a folder in one commit and return the changed paths.

        Old tables that are not in the folder are deleted; other files stay. ``content`` describes the set in the commit
        message; ``notify`` is called with the host before anything is uploaded.
        """
        from huggingface_hub import CommitOperationAdd, CommitOperationDelete

        remote = self._files
        paths = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
        changed = [path for path in paths if path not in remote or not _is_same(remote[path], folder / path)]
        deleted = [path for path in remote if path not in paths and any(fits(path, pattern) for pattern in DATA)]
        if not changed and not deleted:
            return ()
        size = sum((folder / path).stat().st_size for path in changed)
        notify(f"Texts go to {self._host}.")
        notify(f"Sending {counted(len(changed), 'file')} ({human_size(size)}).")
        with ExitStack() as stack, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            # Open files are uploaded with Git LFS, paths with Xet.
            added = [CommitOperationAdd(path, stack.enter_context((folder / path).open("rb"))) for path in changed]
            self._api.create_commit(
                self._repo,
                [*added, *map(CommitOperationDelete, deleted)],
                repo_type=_REPO_TYPE,
                revision=self._branch,
                commit_message=f"Evaluation set of {content}",
                parent_commit=self._commit,
            )
        for warning in caught:
            if str(warning.message).startswith(_CARD_WARNING):
                notify(f"Warning of the Hub about the card: {' '.join(str(warning.message).split())}")
        return (*changed, *deleted)


def _is_same(remote: Any, file: Path) -> bool:
    """Compare a file on the Hub with a local one by hash."""
    from huggingface_hub.utils.sha import git_hash, sha_fileobj

    if remote.lfs is None:
        return bool(remote.blob_id == git_hash(file.read_bytes()))
    with file.open("rb") as stream:
        return bool(remote.lfs.sha256 == sha_fileobj(stream).hex())


_RETRY = "run the command again"
_BY_STATUS = {
    401: "{host} rejects the token; set HF_TOKEN to one with write access, or run `hf auth login`",
    403: "the token has no write access to {repo}; set HF_TOKEN to another, or name a repository of your own",
    404: "{repo} does not exist on {host}, or the token has no access; check the spelling of owner and branch",
    409: f"{{repo}} is being changed by another process; {_RETRY}",
    412: f"{{repo}} was changed during the push; {_RETRY}",
    413: "{host}: the set is too large",
    429: f"{{host}}: too many requests; wait a few minutes and {_RETRY}",
}


def _describe(error: BaseException, repo: str, host: str) -> str:
    import httpx
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, OfflineModeIsEnabled

    cause = error.__cause__
    if isinstance(error, OfflineModeIsEnabled):
        return "HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE is set; unset it"
    if isinstance(error, HfHubHTTPError):
        return _describe_status(error, repo, host)
    if isinstance(error, RuntimeError | LocalEntryNotFoundError) and cause is not None:
        return _describe(cause, repo, host)  # the client wraps errors of single files
    if isinstance(error, httpx.HTTPError | httpx.InvalidURL | ConnectionError | TimeoutError):
        return f"{host} cannot be reached ({str(error) or type(error).__name__}); {_RETRY} later"
    if isinstance(error, OSError):
        return f"cannot read or write a local file: {error}"
    if isinstance(error, UnusableAnswerError):
        return f"{host} {error}; check HF_ENDPOINT"
    if str(error).startswith("Invalid metadata"):
        return f"{host} rejects the card: {error}"
    return f"{host} does not respond like the Hub ({type(error).__name__}: {error}); check HF_ENDPOINT"


def _describe_status(error: Any, repo: str, host: str) -> str:
    status, message = error.response.status_code, error.server_message
    if status in _BY_STATUS:
        return _BY_STATUS[status].format(host=host, repo=repo)
    if status >= 500:
        return f"{host} failed ({status}); {repo} is unchanged; {_RETRY}"
    return f"{host} rejects the request ({status}{f': {message}' if message else ''})"
