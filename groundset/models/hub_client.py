"""Facts on files of the Hugging Face Hub, through its own client, kept quiet and within limits.

Whatever is changed of it is as before when a block ends, because the same process may use it for something else.
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
from groundset.models.http_limits import UnusableAnswerError, bounding
from groundset.models.hub import HubRecord, HubSpec
from groundset.privacy import without_secrets
from groundset.processors import machine_bytes
from programs.errors import HubError, ModelError, UnknownModelError, UnreachableModelError, WeightsError

_CONNECT = 10.0  # seconds


class HubAddress(NamedTuple):
    """The address of the Hub from the environment, and its host with a port if one is named."""

    endpoint: str
    host: str


def hub_address() -> HubAddress:
    """Return the address of the Hub.

    Raises:
        HubError: ``HF_ENDPOINT`` holds no address.
    """
    from huggingface_hub import constants

    endpoint = (os.environ.get("HF_ENDPOINT") or constants.ENDPOINT).rstrip("/")
    shown = without_secrets(endpoint)
    try:
        parts = urlsplit(shown)
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            return HubAddress(endpoint, parts.netloc)
    except ValueError:  # a bracket that is not closed, a port that is no number
        pass
    raise HubError(f"HF_ENDPOINT {shown} is no address of a Hub: https://huggingface.co is one")


def hub_token() -> str | None:
    """Return the user's token for the Hub, None if there is none.

    Raises:
        HubError: it holds characters that no token has.
    """
    from huggingface_hub import get_token

    token: str | None = get_token()
    if token and not (token.isascii() and token.isprintable()):
        raise HubError("the token for the Hub holds characters that none has; set HF_TOKEN anew")
    return token or None


@contextmanager
def online() -> Iterator[None]:
    """Let the Hub's client go online in the block, unless the user switched it off."""
    from huggingface_hub import constants

    offline = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = offline and not privacy.took_the_hub_offline()
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = offline


@contextmanager
def quiet_client(seconds: float, most: int) -> Iterator[None]:
    """Keep the Hub's client from logging, drawing bars, and waiting or reading for ever; then restore its settings.

    Args:
        seconds: that an answer may take.
        most: bytes that it may have.
    """
    import httpx
    from huggingface_hub import get_session, utils

    hub: Any = utils
    verbosity, drawn = hub.logging.get_verbosity(), not hub.are_progress_bars_disabled()
    session = get_session()
    timeout, hooks = session.timeout, session.event_hooks
    session.timeout = httpx.Timeout(seconds, connect=min(seconds, _CONNECT))
    session.event_hooks = {**hooks, "response": [*hooks["response"], bounding(most, seconds), _without_pauses]}
    hub.logging.set_verbosity_error()  # its warnings name addresses that let others write
    hub.disable_progress_bars()
    try:
        yield
    finally:
        session.timeout, session.event_hooks = timeout, hooks
        hub.logging.set_verbosity(verbosity)
        if drawn:
            hub.enable_progress_bars()


def _without_pauses(response: Any) -> None:
    """Remove the pause that an answer asks for, which the client would make silently, however long."""
    for name in ("Retry-After", "RateLimit"):
        response.headers.pop(name, None)


_SECONDS = 15.0
_BYTES = 16 << 20  # a listing of as many files as follow takes a quarter
_MOST_FILES = 10_000
_NAMED = 5
_LONGEST = 200  # of a name, in a message
_COMMIT = re.compile("[0-9a-f]{40}")


def describe(spec: HubSpec, revision: str) -> HubRecord:
    """Return which commit a revision is, and the size and SHA-256 of the file there; see :class:`HubRecord`.

    Raises:
        UnknownModelError: there is no such repository, revision or file.
        UnreachableModelError: the Hub does not answer, or wants a token.
        WeightsError: the file is larger than the memory.
        HubError: `HF_ENDPOINT` or the token cannot be right.
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
            raise _explained(error, spec, revision, address, token) from error
        if not metadata.size or metadata.size < 0:
            raise _strange(address, f"it does not say how large {spec.file} is")
        if metadata.size > machine_bytes():
            smaller = _files(spec, revision, address, token, most=machine_bytes())
            raise WeightsError(
                f"{spec.name} takes {human_size(metadata.size)}, and this machine has {human_size(machine_bytes())} of "
                f"memory; name a smaller file{f': {smaller}' if smaller else ''}"
            )
    commit = metadata.commit_hash if metadata.commit_hash and _COMMIT.fullmatch(metadata.commit_hash) else revision
    return HubRecord(commit, metadata.size, metadata.etag if metadata.etag and SHA256.fullmatch(metadata.etag) else "")


def _explained(error: Exception, spec: HubSpec, revision: str, address: HubAddress, token: str | None) -> ModelError:
    """Return what the Hub's client raised as one line that says how to fix it; nothing in it tells the token."""
    import httpx
    from huggingface_hub import errors

    host, page = address.host, f"{without_secrets(address.endpoint)}/{spec.repo}"
    if isinstance(error, errors.OfflineModeIsEnabled):
        return UnreachableModelError(
            f"{spec.name} is not in the cache, and HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE keeps this process from the "
            "Hub; unset it, or fetch the file before"
        )
    if isinstance(error, errors.GatedRepoError):
        held = "the token has no access yet" if token else "set HF_TOKEN to a token of yours"
        return UnreachableModelError(f"{spec.repo} is gated: {held}; its terms are accepted at {page}")
    if isinstance(error, errors.DisabledRepoError):
        return UnreachableModelError(f"{host} has switched {spec.repo} off; name another repository")
    if isinstance(error, errors.RevisionNotFoundError):
        return UnknownModelError(f"{spec.repo} has no revision {revision}; {page} shows those that it has")
    if isinstance(error, errors.RepositoryNotFoundError | errors.HFValidationError):
        private = "not for this token" if token else "it is private: set HF_TOKEN then"
        return UnknownModelError(f"{host} knows no repository {spec.repo}, or {private}; mind how it is spelt")
    if isinstance(error, errors.RemoteEntryNotFoundError):
        there = _files(spec, revision, address, token)
        has = f"it has {there}" if there else f"{page} shows what it has"
        return UnknownModelError(f"{spec.repo} has no file {spec.file}; {has}")
    if isinstance(error, errors.HfHubHTTPError):
        return _refused(error.response.status_code, spec, host)
    if isinstance(error, httpx.HTTPError | httpx.InvalidURL | OSError):
        reason = without_secrets(str(error) or type(error).__name__)
        return UnreachableModelError(
            f"{spec.name} is not in the cache, and {host} cannot be reached ({reason}); try again when it can"
        )
    return _strange(address, str(error) or type(error).__name__)


def _refused(status: int, spec: HubSpec, host: str) -> ModelError:
    if status in (401, 403):
        return UnreachableModelError(
            f"{host} refuses the token ({status}); set HF_TOKEN to one that may read {spec.repo}"
        )
    if status == 429:
        return UnreachableModelError(f"{host} was asked too much (429); wait a few minutes and try again")
    return UnreachableModelError(f"{host} answers {status} for {spec.name}; try again later, and mind HF_ENDPOINT")


def _strange(address: HubAddress, why: str) -> ModelError:
    return UnreachableModelError(f"{address.host} does not answer as the Hub does ({why}); mind HF_ENDPOINT")


def _files(spec: HubSpec, revision: str, address: HubAddress, token: str | None, most: int | None = None) -> str:
    """Return the GGUF files of a repository, of at most so many bytes, those first that are called nearly the same."""
    import httpx
    from huggingface_hub import HfApi

    api = HfApi(endpoint=address.endpoint, token=token or False, library_name="groundset", library_version=__version__)
    try:
        tree: list[Any] = list(islice(api.list_repo_tree(spec.repo, revision=revision, recursive=True), _MOST_FILES))
    except (httpx.HTTPError, UnusableAnswerError, OSError, ValueError, RuntimeError, KeyError, TypeError):
        return ""  # the error that this is part of says enough without
    sizes = {entry.path: getattr(entry, "size", None) for entry in tree}
    names = [
        name
        for name, size in sizes.items()
        if size and size <= (most or size) and name.lower().endswith(".gguf") and name.isprintable()
    ]
    short = [name for name in names if len(name) <= _LONGEST]
    return ", ".join(difflib.get_close_matches(spec.file, short, _NAMED, cutoff=0))
