"""Metadata of files on the Hugging Face Hub, read with `huggingface_hub`, quietly and within limits.

Changed settings of `huggingface_hub` are restored when a block ends, because the process may use it elsewhere.
"""

import difflib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from groundset import __version__, privacy
from groundset.models.cache import SHA256
from groundset.models.download import human_size
from groundset.models.http_limits import UnusableAnswerError, limit_hook
from groundset.models.hub import HubRecord, HubSpec
from groundset.privacy import without_secrets
from groundset.processors import machine_bytes
from programs.errors import HubError, ModelError, UnknownModelError, UnreachableModelError, WeightsError

_CONNECT = 10.0  # seconds


class HubAddress(NamedTuple):
    """The address of the Hub from the environment, and its host with the port if there is one."""

    endpoint: str
    host: str


def hub_address() -> HubAddress:
    """Return the address of the Hub.

    Raises:
        HubError: ``HF_ENDPOINT`` is not a valid address.
    """
    from huggingface_hub import constants

    endpoint = (os.environ.get("HF_ENDPOINT") or constants.ENDPOINT).rstrip("/")
    shown = without_secrets(endpoint)
    try:
        parts = urlsplit(shown)
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            return HubAddress(endpoint, parts.netloc)
    except ValueError:  # invalid brackets or port
        pass
    raise HubError(f"HF_ENDPOINT {shown}: not an address such as https://huggingface.co")


def hub_token() -> str | None:
    """Return the user's token for the Hub, None if there is none.

    Raises:
        HubError: the token contains invalid characters.
    """
    from huggingface_hub import get_token

    token: str | None = get_token()
    if token and not (token.isascii() and token.isprintable()):
        raise HubError("the Hub token contains non-ASCII or control characters; set HF_TOKEN again")
    return token or None


@contextmanager
def online(*, checked: bool = False) -> Iterator[None]:
    """Allow the Hub's client to go online in the block, unless the user has disabled it.

    Child processes inherit the switch and cannot tell who set it; ``checked`` if their parent could.
    """
    from huggingface_hub import constants

    offline = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = offline and not (checked or privacy.took_the_hub_offline())
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = offline


@contextmanager
def quiet_client(seconds: float, max_bytes: int) -> Iterator[None]:
    """Silence the Hub's client and limit the duration and size of its answers in the block."""
    import httpx
    from huggingface_hub import get_session, utils

    hub: Any = utils
    verbosity, has_bars = hub.logging.get_verbosity(), not hub.are_progress_bars_disabled()
    session = get_session()
    timeout, hooks = session.timeout, session.event_hooks
    session.timeout = httpx.Timeout(seconds, connect=min(seconds, _CONNECT))
    session.event_hooks = {**hooks, "response": [*hooks["response"], limit_hook(max_bytes, seconds), _ignore_pauses]}
    hub.logging.set_verbosity_error()  # its warnings may contain signed upload URLs
    hub.disable_progress_bars()
    try:
        yield
    finally:
        session.timeout, session.event_hooks = timeout, hooks
        hub.logging.set_verbosity(verbosity)
        if has_bars:
            hub.enable_progress_bars()


def _ignore_pauses(response: Any) -> None:
    """Remove the headers that make the client wait silently for an arbitrary time."""
    for name in ("Retry-After", "RateLimit"):
        response.headers.pop(name, None)


_SECONDS = 15.0
_BYTES = 16 << 20  # four times a listing of _MAX_FILES
_MAX_FILES = 10_000
_NAMED = 5
_MAX_NAME = 200  # characters, in a message
_COMMIT = re.compile("[0-9a-f]{40}")


def describe(spec: HubSpec, revision: str) -> HubRecord:
    """Return the commit of a revision, and the size and SHA-256 of the file; see :class:`HubRecord`.

    Raises:
        UnknownModelError: there is no such repository, revision or file.
        UnreachableModelError: the Hub does not answer, or requires a token.
        WeightsError: the file is larger than the memory.
        HubError: `HF_ENDPOINT` or the token is invalid.
    """
    import httpx
    from huggingface_hub import get_hf_file_metadata, hf_hub_url

    address, token = hub_address(), hub_token()
    with quiet_client(_SECONDS, _BYTES):
        try:
            metadata = get_hf_file_metadata(
                hf_hub_url(spec.repo, spec.file, revision=revision, endpoint=address.endpoint),
                token=token or False,
                timeout=_SECONDS,
                library_name="groundset",
                library_version=__version__,
            )
        except (httpx.HTTPError, httpx.InvalidURL, UnusableAnswerError, OSError, ValueError, RuntimeError) as error:
            raise _explain(error, spec, revision, address, token) from error
        if not metadata.size or metadata.size < 0:
            raise _unexpected_answer(address, f"no size of {spec.file}")
        if metadata.size > machine_bytes():
            smaller = _similar_files(spec, revision, address, token, max_bytes=machine_bytes())
            raise WeightsError(
                f"{spec.name} takes {human_size(metadata.size)}, and this machine has {human_size(machine_bytes())} of "
                f"memory; name a smaller file{f': {smaller}' if smaller else ''}"
            )
    commit = metadata.commit_hash if metadata.commit_hash and _COMMIT.fullmatch(metadata.commit_hash) else revision
    return HubRecord(commit, metadata.size, metadata.etag if metadata.etag and SHA256.fullmatch(metadata.etag) else "")


def _explain(error: Exception, spec: HubSpec, revision: str, address: HubAddress, token: str | None) -> ModelError:
    """Convert an error of the Hub's client to a one-line error that names the fix and hides the token."""
    import httpx
    from huggingface_hub import errors

    host, page = address.host, f"{without_secrets(address.endpoint)}/{spec.repo}"
    if isinstance(error, errors.OfflineModeIsEnabled):
        return UnreachableModelError(
            f"{spec.name} is not in the cache, and HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE disables the Hub; unset it, "
            "or download the file first"
        )
    if isinstance(error, errors.GatedRepoError):
        fix = "your token has no access yet" if token else "set HF_TOKEN"
        return UnreachableModelError(f"{spec.repo} is gated: {fix}, and accept its terms at {page}")
    if isinstance(error, errors.DisabledRepoError):
        return UnreachableModelError(f"{host} has disabled {spec.repo}; name another repository")
    if isinstance(error, errors.RevisionNotFoundError):
        return UnknownModelError(f"{spec.repo} has no revision {revision}; see {page}")
    if isinstance(error, errors.RepositoryNotFoundError | errors.HFValidationError):
        private = "your token has no access" if token else "it is private and needs HF_TOKEN"
        return UnknownModelError(f"{host} has no repository {spec.repo}, or {private}; check the spelling")
    if isinstance(error, errors.RemoteEntryNotFoundError):
        similar = _similar_files(spec, revision, address, token)
        return UnknownModelError(
            f"{spec.repo} has no file {spec.file}; {f'it has {similar}' if similar else f'see {page}'}"
        )
    if isinstance(error, errors.HfHubHTTPError):
        return _status_error(error.response.status_code, spec, host)
    if isinstance(error, httpx.HTTPError | httpx.InvalidURL | OSError):
        reason = without_secrets(str(error) or type(error).__name__)
        return UnreachableModelError(
            f"{spec.name} is not in the cache, and {host} cannot be reached ({reason}); check the connection"
        )
    return _unexpected_answer(address, str(error) or type(error).__name__)


def _status_error(status: int, spec: HubSpec, host: str) -> ModelError:
    if status in (401, 403):
        return UnreachableModelError(f"{host} rejects the token ({status}); set HF_TOKEN to one that reads {spec.repo}")
    if status == 429:
        return UnreachableModelError(f"{host} limits the rate of requests (429); try again in a few minutes")
    return UnreachableModelError(f"{host} answers {status} for {spec.name}; try again later, or check HF_ENDPOINT")


def _unexpected_answer(address: HubAddress, reason: str) -> ModelError:
    return UnreachableModelError(f"{address.host} does not answer like the Hub ({reason}); check HF_ENDPOINT")


def _similar_files(
    spec: HubSpec, revision: str, address: HubAddress, token: str | None, max_bytes: int | None = None
) -> str:
    """List GGUF files of a repository of at most ``max_bytes``, the most similar names first."""
    import httpx
    from huggingface_hub import HfApi

    api = HfApi(endpoint=address.endpoint, token=token or False, library_name="groundset", library_version=__version__)
    try:
        tree: list[Any] = list(islice(api.list_repo_tree(spec.repo, revision=revision, recursive=True), _MAX_FILES))
    except (httpx.HTTPError, UnusableAnswerError, OSError, ValueError, RuntimeError, KeyError, TypeError):
        return ""  # only details of another error
    sizes = {entry.path: getattr(entry, "size", None) for entry in tree}
    names = [
        name
        for name, size in sizes.items()
        if size and size <= (max_bytes or size) and name.lower().endswith(".gguf") and name.isprintable()
    ]
    short = [name for name in names if len(name) <= _MAX_NAME]
    return ", ".join(difflib.get_close_matches(spec.file, short, _NAMED, cutoff=0))
