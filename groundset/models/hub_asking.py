"""What the Hugging Face Hub says of a file before it is fetched, and in one line why it cannot be."""

import difflib
import re
from itertools import islice
from typing import Any

from groundset import __version__
from groundset.models.answers import UnusableAnswerError
from groundset.models.hub_client import HubAddress, hub_address, hub_token, quiet_client
from groundset.models.hub_names import HubRecord, HubSpec
from groundset.models.progress import human_size
from groundset.privacy import without_secrets
from groundset.processors import machine_bytes
from programs.errors import ModelError, UnknownModelError, UnreachableModelError, WeightsError

_SECONDS = 15.0
_BYTES = 16 << 20  # a listing of as many files as follow takes a quarter
_MOST_FILES = 10_000
_NAMED = 5
_LONGEST = 200  # of a name, in a message
_COMMIT, _SHA256 = re.compile("[0-9a-f]{40}"), re.compile("[0-9a-f]{64}")


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
            told = get_hf_file_metadata(
                hf_hub_url(spec.repo, spec.file, revision=revision, endpoint=address.endpoint),
                token=token or False,
                timeout=_SECONDS,
                library_name="groundset",
                library_version=__version__,
            )
        except (httpx.HTTPError, httpx.InvalidURL, UnusableAnswerError, OSError, ValueError, RuntimeError) as error:
            raise _explained(error, spec, revision, address, token) from error
        if not told.size or told.size < 0:
            raise _strange(address, f"it does not say how large {spec.file} is")
        if told.size > machine_bytes():
            smaller = _named(_files(spec, revision, address, token, most=machine_bytes()))
            raise WeightsError(
                f"{spec.name} takes {human_size(told.size)}, and this machine has {human_size(machine_bytes())} of "
                f"memory; name a smaller file{f': {smaller}' if smaller else ''}."
            )
    commit = told.commit_hash if told.commit_hash and _COMMIT.fullmatch(told.commit_hash) else revision
    return HubRecord(commit, told.size, told.etag if told.etag and _SHA256.fullmatch(told.etag) else "")


def _explained(error: Exception, spec: HubSpec, revision: str, address: HubAddress, token: str | None) -> ModelError:
    """Return what the Hub's client raised as one line that names the mend; nothing in it tells the token."""
    import httpx
    from huggingface_hub import errors

    host, page = address.host, f"{without_secrets(address.endpoint)}/{spec.repo}"
    if isinstance(error, errors.OfflineModeIsEnabled):
        return UnreachableModelError(
            f"{spec.name} is not in the cache, and HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE keeps this process from the "
            "Hub; unset it, or fetch the file before."
        )
    if isinstance(error, errors.GatedRepoError):
        held = "the token has no access yet" if token else "set HF_TOKEN to a token of yours"
        return UnreachableModelError(f"{spec.repo} is gated: {held}; its terms are accepted at {page}.")
    if isinstance(error, errors.DisabledRepoError):
        return UnreachableModelError(f"{host} has switched {spec.repo} off; name another repository.")
    if isinstance(error, errors.RevisionNotFoundError):
        return UnknownModelError(f"{spec.repo} has no revision {revision}; {page} shows those that it has.")
    if isinstance(error, errors.RepositoryNotFoundError | errors.HFValidationError):
        private = "not for this token" if token else "it is private: set HF_TOKEN then"
        return UnknownModelError(f"{host} knows no repository {spec.repo}, or {private}; mind how it is spelt.")
    if isinstance(error, errors.RemoteEntryNotFoundError):
        there = _named(_files(spec, revision, address, token))
        has = f"it has {there}" if there else f"{page} shows what it has"
        return UnknownModelError(f"{spec.repo} has no file {spec.file}; {has}.")
    if isinstance(error, errors.HfHubHTTPError):
        return _refused(error.response.status_code, spec, host)
    if isinstance(error, httpx.HTTPError | httpx.InvalidURL | OSError):
        reason = without_secrets(str(error) or type(error).__name__)
        return UnreachableModelError(
            f"{spec.name} is not in the cache, and {host} cannot be reached ({reason}); try again when it can."
        )
    return _strange(address, str(error) or type(error).__name__)


def _refused(status: int, spec: HubSpec, host: str) -> ModelError:
    if status in (401, 403):
        return UnreachableModelError(
            f"{host} refuses the token ({status}); set HF_TOKEN to one that may read {spec.repo}."
        )
    if status == 429:
        return UnreachableModelError(f"{host} was asked too much (429); wait a few minutes and try again.")
    return UnreachableModelError(f"{host} answers {status} for {spec.name}; try again later, and mind HF_ENDPOINT.")


def _strange(address: HubAddress, why: str) -> ModelError:
    return UnreachableModelError(f"{address.host} does not answer as the Hub does ({why}); mind HF_ENDPOINT.")


def _files(spec: HubSpec, revision: str, address: HubAddress, token: str | None, most: int | None = None) -> list[str]:
    """Return the GGUF files of a repository, of at most so many bytes, those first that are called nearly the same."""
    import httpx
    from huggingface_hub import HfApi

    api = HfApi(endpoint=address.endpoint, token=token or False, library_name="groundset", library_version=__version__)
    try:
        tree: list[Any] = list(islice(api.list_repo_tree(spec.repo, revision=revision, recursive=True), _MOST_FILES))
    except (httpx.HTTPError, UnusableAnswerError, OSError, ValueError, RuntimeError, KeyError, TypeError):
        return []  # the error that it is asked for says enough without
    sizes = {entry.path: getattr(entry, "size", None) for entry in tree}
    names = [
        name
        for name, size in sizes.items()
        if size and size <= (most or size) and name.lower().endswith(".gguf") and name.isprintable()
    ]
    return difflib.get_close_matches(spec.file, [name for name in names if len(name) <= _LONGEST], _NAMED, cutoff=0)


def _named(files: list[str]) -> str:
    return ", ".join(files)
