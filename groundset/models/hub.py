"""Files of the Hugging Face Hub, through its own client; the Hub is enabled only while one is downloaded.

A file in the cache needs no request; a run records the SHA-256 of its weights, so that other weights do not pass
unnoticed.
"""

import hashlib
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from groundset import privacy
from groundset.models.cache import SHA256, cache_home, file_sha256, model_lock
from programs.errors import ChecksumError, ModelError, UnknownModelError, UnreachableModelError

PREFIX = "hf/"
FORM = "hf/<owner>/<repo>/<file>.gguf"
_MAIN = "main"
_FORBIDDEN = r'\\@:*?"<>|'  # in file names on some systems
_NAME = re.compile(
    rf"hf/(?P<repo>\w[\w.-]*/\w[\w.-]*)/(?P<file>[^{_FORBIDDEN}]+\.gguf)(?:@(?P<revision>[^{_FORBIDDEN}\s]+))?",
    re.ASCII | re.IGNORECASE,
)
_SPLIT_MODEL = re.compile(r"-\d+-of-\d+\.gguf$", re.IGNORECASE)
_MAX_NAME = 500  # characters; owners and repositories on the Hub have at most 96
_MAGIC = b"GGUF"
_SECONDS = 15.0


def parse_name(text: str) -> tuple[str, str, str]:
    """Return the repository (``owner/name``), the path in it and the revision of a file of the Hub.

    Raises:
        UnknownModelError: it is not the name of a GGUF file.
    """
    match = _NAME.fullmatch(text) if len(text) <= _MAX_NAME and text.isprintable() else None
    repo, file, revision = match.groups(default=_MAIN) if match else ("", "", "")
    if any(part in ("", ".", "..") for part in f"{file}/{revision}".split("/")):
        raise UnknownModelError(
            f"{text[:_MAX_NAME]!r}: not a file of the Hugging Face Hub; use {FORM}, optionally with @<revision>, "
            "or ./hf/… for a local file"
        )
    if _SPLIT_MODEL.search(file):
        raise UnknownModelError(f"{text}: one part of a split model; name a model in a single file")
    return repo, file, revision


def pull_file(name: str, notify: Callable[[str], object]) -> Path:
    """Return a file of the Hub, downloaded and verified if it is missing.

    Raises:
        UnknownModelError: there is no such repository, revision or file, or it is not a GGUF file.
        ModelError: it cannot be downloaded.
    """
    repo, file, revision = parse_name(name)
    at = "" if revision == _MAIN else f"@{quote(revision, safe='')}"
    path = cache_home() / "models" / "hf" / f"{repo}{at}" / file
    lock = f"hf-{hashlib.sha256(name.encode()).hexdigest()[:32]}"
    with model_lock(lock, lambda: notify(f"waiting for another process that pulls {name}")):
        if path.is_file():
            return path
        notify(f"downloading {name} from the Hugging Face Hub")
        from huggingface_hub import get_hf_file_metadata, hf_hub_download, hf_hub_url

        endpoint = os.environ.get("HF_ENDPOINT")
        with online():
            try:
                url = hf_hub_url(repo, file, revision=revision, endpoint=endpoint)
                told = get_hf_file_metadata(url, timeout=_SECONDS)
                # In a folder of its own until it is verified; the client resumes what it finds there.
                partial, commit = cache_home() / "partial" / lock, told.commit_hash or revision
                fetched = Path(hf_hub_download(repo, file, revision=commit, local_dir=partial, endpoint=endpoint))
            except Exception as error:
                raise explained(f"{repo}/{file}", revision, error) from error
        with fetched.open("rb") as stream:
            if stream.read(len(_MAGIC)) != _MAGIC:
                raise UnknownModelError(f"{name} is not a GGUF file; name another file")
        found = file_sha256(fetched)
        if told.etag and SHA256.fullmatch(told.etag) and found != told.etag:
            fetched.unlink()
            raise ChecksumError(f"{name} has SHA-256 {found} instead of {told.etag}; it was deleted")
        path.parent.mkdir(parents=True, exist_ok=True)
        fetched.replace(path)
        notify(f"{name} is verified and ready (SHA-256 {found})")
    return path


def explained(name: str, revision: str, error: Exception) -> ModelError:
    """Return an error of the Hub's client in one line that says what to do."""
    from huggingface_hub import errors

    host = privacy.without_secrets(os.environ.get("HF_ENDPOINT") or "the Hugging Face Hub")
    if isinstance(error, errors.OfflineModeIsEnabled):
        return UnreachableModelError(f"{name} is not in the cache, and HF_HUB_OFFLINE disables the Hub; unset it")
    if isinstance(error, errors.GatedRepoError):
        return UnreachableModelError(f"{name} is gated: accept its terms on its page, and set HF_TOKEN")
    if isinstance(error, errors.RevisionNotFoundError):
        return UnknownModelError(f"{name}: {host} has no revision {revision} of this repository")
    if isinstance(error, errors.EntryNotFoundError):
        return UnknownModelError(f"{name}: {host} has the repository but no such file; check the spelling")
    if isinstance(error, errors.RepositoryNotFoundError | errors.HFValidationError):
        return UnknownModelError(f"{name}: {host} has no such repository, or it is private and needs HF_TOKEN")
    reason = privacy.without_secrets((str(error) or type(error).__name__).splitlines()[0])[:300]
    return UnreachableModelError(f"{name} cannot be downloaded from {host}: {reason}; repeat the command to go on")


@contextmanager
def online() -> Iterator[None]:
    """Let the Hub's client go online in the block, unless the user has disabled it; without bars outside terminals."""
    from huggingface_hub import constants, utils

    bars: Any = utils
    offline, has_bars = constants.HF_HUB_OFFLINE, not bars.are_progress_bars_disabled()
    constants.HF_HUB_OFFLINE = offline and not privacy.took_the_hub_offline()
    if not sys.stderr.isatty():
        bars.disable_progress_bars()
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = offline
        if has_bars:
            bars.enable_progress_bars()
