"""Files of the Hugging Face Hub, through its own client; the Hub is enabled only while one is downloaded.

The SHA-256 of a file that a user names is recorded at the first download. Later downloads under that name must match
it, so that weights cannot change unnoticed, and a file in the cache needs no request.
"""

import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from groundset import privacy
from groundset.files import write_text
from groundset.models.cache import SHA256, cache_home, file_sha256, model_lock
from programs.errors import ChecksumError, InputError, ModelError, UnknownModelError, UnreachableModelError
from programs.untrusted import small_text

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
_RECORD_BYTES = 1 << 16
_MAGIC = b"GGUF"
_TRUE = frozenset({"1", "true", "yes", "on"})


class HubFile(NamedTuple):
    """A GGUF file of the Hub: ``owner/name`` of the repository, the path in it, and a branch, tag or commit."""

    repo: str
    file: str
    revision: str = _MAIN

    @property
    def name(self) -> str:
        """Return the specification of this file."""
        return f"{PREFIX}{self.repo}/{self.file}" + ("" if self.revision == _MAIN else f"@{self.revision}")

    @property
    def folder(self) -> Path:
        """Return the cache folder of this revision of the repository."""
        revision = "" if self.revision == _MAIN else f"@{quote(self.revision, safe='')}"
        return cache_home() / "models" / "hf" / f"{self.repo}{revision}"

    @property
    def path(self) -> Path:
        """Return the path of the file in the cache."""
        return self.folder / self.file


def parse_name(text: str) -> HubFile:
    """Parse the name of a file of the Hub.

    Raises:
        UnknownModelError: it is not the name of a GGUF file.
    """
    match = _NAME.fullmatch(text) if len(text) <= _MAX_NAME and text.isprintable() else None
    parts = f"{match['file']}/{match['revision'] or _MAIN}".split("/") if match else [""]
    if match is None or any(not part or part != part.strip(" .") for part in parts):
        raise UnknownModelError(
            f"{text[:_MAX_NAME]!r}: not a file of the Hugging Face Hub; use {FORM}, optionally with @<revision>, "
            "or ./hf/… for a local file"
        )
    if _SPLIT_MODEL.search(match["file"]):
        raise UnknownModelError(f"{text}: one part of a split model; name a model in a single file")
    return HubFile(match["repo"], match["file"], match["revision"] or _MAIN)


def hub_enabled() -> bool:
    """Return whether ``GROUNDSET_HUB`` enables the Hub for models of the catalogue."""
    return os.environ.get("GROUNDSET_HUB", "").lower() in _TRUE


def pull_file(name: str, notify: Callable[[str], object]) -> Path:
    """Return the verified file of a name, downloaded if it is missing or damaged.

    Raises:
        UnknownModelError: there is no such repository, revision or file, or it is not a GGUF file.
        ModelError: it cannot be downloaded, or has changed since the first download.
    """
    named = parse_name(name)
    record = named.path.with_name(f"{named.path.name}.json")
    known = _read_record(record)
    if known and named.path.is_file() and file_sha256(named.path) == known["sha256"]:
        return named.path
    lock = f"hf-{quote(named.name, safe='')}"[:200]
    with model_lock(lock, lambda: notify(f"waiting for another process that pulls {named.name}")):
        notify(f"downloading {named.name} from the Hugging Face Hub")
        told, commit = download(named.repo, named.file, known["commit"] if known else named.revision, named.folder)
        with named.path.open("rb") as stream:
            is_gguf = stream.read(len(_MAGIC)) == _MAGIC
        found = file_sha256(named.path)
        expected = known["sha256"] if known else told or found
        if found != expected or not is_gguf:
            named.path.unlink()
        if not is_gguf:
            raise UnknownModelError(f"{named.name} is not a GGUF file; name another file")
        if found != expected:
            raise ChecksumError(
                f"{named.name} has SHA-256 {found} instead of {expected}; "
                + (f"delete {record} to use the new file" if known else "it was deleted")
            )
        write_text(record, json.dumps({"name": named.name, "commit": commit, "sha256": found}, indent=2) + "\n")
        notify(f"{named.name} is verified and ready (SHA-256 {found})")
    return named.path


def pulled_files() -> Iterator[HubFile]:
    """Yield the files that were pulled by name, sorted."""
    for record in sorted((cache_home() / "models" / "hf").rglob("*.gguf.json")):
        if known := _read_record(record):
            named = parse_name(known["name"])
            if named.path.is_file():
                yield named


def download(repo: str, file: str, revision: str, folder: Path) -> tuple[str, str]:
    """Download one file into a folder; return the SHA-256 that the Hub gives (empty if none), and the commit.

    Raises:
        ModelError: it cannot be downloaded; the message says why.
    """
    import httpx
    from huggingface_hub import get_hf_file_metadata, hf_hub_download, hf_hub_url, utils
    from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled

    with online():
        has_bars = not utils.are_progress_bars_disabled()
        if not sys.stderr.isatty():
            utils.disable_progress_bars()
        try:
            url = hf_hub_url(repo, file, revision=revision, endpoint=os.environ.get("HF_ENDPOINT"))
            told = get_hf_file_metadata(url, timeout=15.0)
            commit = told.commit_hash or revision
            hf_hub_download(
                repo, file, revision=commit, local_dir=folder, endpoint=os.environ.get("HF_ENDPOINT"), etag_timeout=15.0
            )
        except OfflineModeIsEnabled as error:
            raise UnreachableModelError(
                f"{repo}/{file} is not in the cache, and HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE disables the Hub"
            ) from error
        except (HfHubHTTPError, httpx.HTTPError, httpx.InvalidURL, ValueError, OSError, RuntimeError) as error:
            raise explained(f"{repo}/{file}", revision, error) from error
        finally:
            if has_bars:
                utils.enable_progress_bars()
    digest = told.etag if told.etag and SHA256.fullmatch(told.etag) else ""
    return digest, commit


def explained(name: str, revision: str, error: Exception) -> ModelError:
    from huggingface_hub import errors

    host = privacy.without_secrets(os.environ.get("HF_ENDPOINT") or "the Hugging Face Hub")
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
    """Let the Hub's client go online in the block, unless the user has disabled it."""
    from huggingface_hub import constants

    offline = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = offline and not privacy.took_the_hub_offline()
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = offline


def _read_record(file: Path) -> dict[str, str] | None:
    """Return name, commit and SHA-256 of a file that was downloaded before, None if it never was.

    Raises:
        ModelError: the record is damaged.
    """
    try:
        data = json.loads(small_text(file, _RECORD_BYTES))
        if SHA256.fullmatch(data["sha256"]) and isinstance(data["commit"], str) and isinstance(data["name"], str):
            return {key: data[key] for key in ("name", "commit", "sha256")}
    except FileNotFoundError:
        return None
    except (OSError, InputError, ValueError, KeyError, TypeError, RecursionError):
        pass
    raise ModelError(f"{file}: damaged record; delete it to download the file again")
