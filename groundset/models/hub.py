"""Files of the Hugging Face Hub: names, records and downloads.

`huggingface_hub` supplies URLs (with `HF_ENDPOINT` mirrors) and the HTTP client (proxies, certificates, offline mode).
Its download function is not used, because it deletes interrupted downloads and waits long for unreachable servers; here
`.part` files are resumed with range requests. A token is only sent for files that a user names.

Files in the cache need no request. The SHA-256 of a file that a user names is recorded at the first download; later
downloads under the same name must match it, so that weights cannot change unnoticed.
"""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from groundset.files import write_text
from groundset.models.cache import SHA256, cache_home, file_sha256, is_verified, model_lock
from groundset.models.catalogue import HubSource, ModelFile
from groundset.models.download import (
    ConsoleProgress,
    PartFile,
    PullProgress,
    Report,
    explain_storage_errors,
    require_space,
)
from programs.errors import ChecksumError, DownloadError, InputError, ModelError, UnknownModelError
from programs.untrusted import small_text

PREFIX = "hf/"
FORM = "hf/<owner>/<repo>/<file>.gguf"
MAIN = "main"
_FORBIDDEN = r'\\@:*?"<>|'  # in file names on some systems
_NAME = re.compile(
    rf"hf/(?P<repo>\w[\w.-]*/\w[\w.-]*)/(?P<file>[^{_FORBIDDEN}]+\.gguf)(?:@(?P<revision>[^{_FORBIDDEN}\s]+))?",
    re.ASCII | re.IGNORECASE,
)
_SPLIT_MODEL = re.compile(r"-\d+-of-\d+\.gguf$", re.IGNORECASE)
_MAX_NAME = 500  # characters; owners and repositories on the Hub have at most 96
_RECORD_BYTES = 1 << 16
CONNECT_TIMEOUT = 4.0
READ_TIMEOUT = 15.0
_TRUE = frozenset({"1", "true", "yes", "on"})
_MAGIC = b"GGUF"


@dataclass(frozen=True, slots=True)
class HubSpec:
    """A GGUF file of the Hugging Face Hub; its hash is known after the first download.

    Attributes:
        repo: ``owner/name``.
        file: its path in the repository.
        revision: a branch, a tag or a commit.
    """

    repo: str
    file: str
    revision: str = MAIN

    @property
    def name(self) -> str:
        """Return the specification of this file."""
        return f"{PREFIX}{self.repo}/{self.file}" + ("" if self.revision == MAIN else f"@{self.revision}")

    @property
    def folder(self) -> Path:
        """Return the cache folder of this revision of the repository."""
        revision = "" if self.revision == MAIN else f"@{quote(self.revision, safe='')}"
        return _home() / f"{self.repo}{revision}"

    @property
    def path(self) -> Path:
        """Return the path of the file in the cache."""
        return self.folder / self.file

    @property
    def key(self) -> str:
        """Return a short name for the lock and the unfinished download."""
        return f"hf-{hashlib.sha256(self.name.encode()).hexdigest()[:32]}"


class HubRecord(NamedTuple):
    """The record of the first download of a file, which later downloads must match.

    Attributes:
        commit: of the repository, or the revision if a mirror does not report it.
        size: in bytes.
        sha256: of the content; empty only before the first download, if the Hub does not report it.
    """

    commit: str
    size: int
    sha256: str


def parse_hub_name(text: str) -> HubSpec | None:
    """Parse the name of a Hub file; None if the text does not begin with ``hf/``.

    Raises:
        UnknownModelError: the rest is not the name of a GGUF file.
    """
    if not text.startswith(PREFIX):
        return None
    match = _NAME.fullmatch(text) if len(text) <= _MAX_NAME and text.isprintable() else None
    spec = HubSpec(match["repo"], match["file"], match["revision"] or MAIN) if match else None
    if spec is None or not _is_plain(spec.file) or not _is_plain(spec.revision):
        raise UnknownModelError(
            f"{text[:_MAX_NAME]!r}: not a file of the Hugging Face Hub; use {FORM}, optionally with @<revision>, "
            "or ./hf/… for a local file"
        )
    if _SPLIT_MODEL.search(spec.file):
        raise UnknownModelError(f"{text}: one part of a split model; name a model in a single file")
    return spec


def read_record(spec: HubSpec) -> HubRecord | None:
    """Return the record of a file, None if it was never downloaded."""
    file = record_file(spec)
    try:
        data = json.loads(small_text(file, _RECORD_BYTES))
        record = HubRecord(data["commit"], data["size"], data["sha256"])
        if isinstance(record.commit, str) and type(record.size) is int and SHA256.fullmatch(record.sha256):
            return record
    except FileNotFoundError:
        return None
    except (OSError, InputError, ValueError, KeyError, TypeError, RecursionError):
        pass
    raise ModelError(f"{file}: damaged record; delete it to download {spec.name} again")


def write_record(spec: HubSpec, record: HubRecord) -> None:
    """Write the record of a file beside it."""
    write_text(record_file(spec), json.dumps({"name": spec.name, **record._asdict()}, indent=2) + "\n")


def fetched_files() -> Iterator[tuple[HubSpec, HubRecord]]:
    """Yield the files downloaded from the Hub by name, sorted, without those whose record is damaged."""
    for file in sorted(_home().rglob("*.json")):
        try:
            spec = parse_hub_name(str(json.loads(small_text(file, _RECORD_BYTES))["name"]))
            record = read_record(spec) if spec is not None and record_file(spec) == file else None
        except (OSError, InputError, ModelError, ValueError, KeyError, TypeError, RecursionError):
            continue
        if spec is not None and record is not None:
            yield spec, record


def record_file(spec: HubSpec) -> Path:
    """Return the path of the record of a file."""
    return spec.path.with_name(f"{spec.path.name}.json")


def _is_plain(path: str) -> bool:
    """Return whether no part of a path is empty or refers to another folder."""
    return all(part and part == part.strip(" .") for part in path.split("/"))


def _home() -> Path:
    return cache_home() / "models" / "hf"


def hub_enabled(choice: bool | None) -> bool:
    """Return the choice, by default whether `GROUNDSET_HUB` is set and `HF_HUB_OFFLINE` is not."""
    if choice is not None:
        return choice
    offline = os.environ.get("HF_HUB_OFFLINE", "").lower() in _TRUE
    return os.environ.get("GROUNDSET_HUB", "").lower() in _TRUE and not offline


def hub_answers() -> bool:
    """Return within a few seconds whether the Hub can be reached; False in offline mode."""
    import httpx
    from huggingface_hub import constants, get_session
    from huggingface_hub.errors import OfflineModeIsEnabled

    try:
        get_session().head(os.environ.get("HF_ENDPOINT") or constants.ENDPOINT, timeout=CONNECT_TIMEOUT)
    except (httpx.HTTPError, OfflineModeIsEnabled):
        return False
    return True


def fetch_from_hub(
    source: HubSource,
    files: tuple[ModelFile, ...],
    staging: Path,
    folder: Path,
    progress: PullProgress,
    *,
    part: type[PartFile] = PartFile,
    token: str | None = None,
) -> None:
    """Download `files` from the Hub into `folder`, resuming interrupted downloads in `staging`.

    Raises:
        DownloadError: The Hub cannot be reached or refuses; the partial download is kept.
        ChecksumError: The size or hash of a file is wrong; it has been deleted.
    """
    parts = [part(file, staging) for file in files]
    total = sum(file.size for file in files)
    require_space(staging, total - sum(each.size() for each in parts))
    done = 0
    with progress.stage(f"Downloading from the Hugging Face Hub ({source.repo})", total) as report:
        for each in parts:
            _fetch_file(source, each, token, report, done)
            each.install(folder / each.file.path)
            done += each.file.size


def _fetch_file(source: HubSource, part: PartFile, token: str | None, report: Report, done: int) -> None:
    """Download one file, resuming broken connections as long as every attempt makes progress."""
    while True:
        before = part.size()
        try:
            for reached in _attempt(source, part, token):
                report(done + reached)
        except DownloadError:
            if part.size() <= before:
                raise
        else:
            return


def _attempt(source: HubSource, part: PartFile, token: str | None) -> Iterator[int]:
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    import httpx
    from huggingface_hub import get_session, hf_hub_url
    from huggingface_hub.errors import OfflineModeIsEnabled

    url = hf_hub_url(source.repo, part.file.path, revision=source.revision, endpoint=os.environ.get("HF_ENDPOINT"))
    offset = part.size()
    if offset >= part.file.size:
        yield from part.receive((), resume=True)
        return
    headers = {"User-Agent": "groundset", "Accept-Encoding": "identity"}
    if token:
        headers["Authorization"] = f"Bearer {token}"  # not sent to other hosts after redirects
    if offset:
        headers["Range"] = f"bytes={offset}-"
    timeout = httpx.Timeout(READ_TIMEOUT, connect=CONNECT_TIMEOUT)
    try:
        with get_session().stream("GET", url, headers=headers, timeout=timeout) as response:
            response.raise_for_status()
            resumed = response.status_code == httpx.codes.PARTIAL_CONTENT
            yield from part.receive(response.iter_bytes(), resume=resumed)
    except OfflineModeIsEnabled as error:
        raise DownloadError("the Hugging Face Hub is disabled by HF_HUB_OFFLINE; unset it") from error
    except httpx.HTTPStatusError as error:
        raise DownloadError(
            f"the Hugging Face Hub answered {error.response.status_code} for {source.repo}/{part.file.path}"
        ) from error
    except httpx.HTTPError as error:
        reason = str(error) or type(error).__name__
        raise DownloadError(f"the Hugging Face Hub cannot be reached ({reason})") from error


def pull_hub_file(spec: HubSpec, *, progress: PullProgress | None = None) -> tuple[Path, str]:
    """Return the path and SHA-256 of a verified Hub file, which is downloaded if it is missing or damaged.

    Raises:
        UnknownModelError: there is no such repository, revision or file, or it is not a GGUF file.
        UnreachableModelError: the Hub does not answer, or requires a token.
        WeightsError: the file is larger than the memory.
        ModelError: the file cannot be downloaded or stored, or has changed since the first download.
    """
    from groundset.models.hub_client import online

    progress = progress or ConsoleProgress()
    with explain_storage_errors(spec.name, f"space in {spec.folder}", spec.path):
        record = _verified_record(spec)
        if record is None:
            wait = f"Another process is pulling {spec.name}; waiting for it."
            with model_lock(spec.key, lambda: progress.note(wait)), online():
                record = _verified_record(spec) or _pull(spec, progress)
    return spec.path, record.sha256


def fetched_sha256(spec: HubSpec) -> str | None:
    """Return the SHA-256 of a Hub file, None if it was never downloaded."""
    record = read_record(spec)
    return record and record.sha256


def _verified_record(spec: HubSpec) -> HubRecord | None:
    """Return the record of a file, None if the file has to be downloaded."""
    record = read_record(spec)
    return record if record and is_verified(_model_file(spec, record), spec.path) else None


def _model_file(spec: HubSpec, record: HubRecord) -> ModelFile:
    return ModelFile(spec.file, record.size, record.sha256)


def _pull(spec: HubSpec, progress: PullProgress) -> HubRecord:
    """Download a file and record it, or download the recorded version again."""
    from groundset.models.hub_client import describe, hub_token

    known = read_record(spec)
    if known and spec.path.exists():
        progress.note(f"{spec.path} has changed since its download; downloading it again.")
    record = describe(spec, known.commit if known else spec.revision)
    if known and record.sha256 and known.sha256 != record.sha256:
        raise ChecksumError(
            f"{spec.name} has changed on the Hub: SHA-256 {record.sha256[:16]}…, at the first download "
            f"{known.sha256[:16]}…; delete {record_file(spec)} to use the new file"
        )
    record = known or record
    if not is_verified(_model_file(spec, record), spec.path):
        _fetch(spec, record, progress, hub_token())
    record = record._replace(sha256=file_sha256(spec.path))
    if known is None:
        write_record(spec, record)
    progress.note(f"{spec.name} is verified and ready (SHA-256 {record.sha256}).")
    return record


def _fetch(spec: HubSpec, record: HubRecord, progress: PullProgress, token: str | None) -> None:
    partial = cache_home() / "partial" / spec.key
    staging = partial / (record.sha256 or record.commit.replace("/", "-"))
    for other in partial.iterdir() if partial.is_dir() else ():
        if other != staging:  # of a version that has been replaced on the Hub
            shutil.rmtree(other, ignore_errors=True)
    source, files = HubSource(spec.repo, record.commit), (_model_file(spec, record),)
    try:
        fetch_from_hub(source, files, staging, spec.folder, progress, part=_GGUFPart, token=token)
    except DownloadError as error:
        raise DownloadError(f"{error}; repeat the command to resume {spec.name}") from error
    except ChecksumError as error:
        raise ChecksumError(f"{spec.name} cannot be pulled: {error}") from error
    shutil.rmtree(partial, ignore_errors=True)


class _GGUFPart(PartFile):
    """A download that stops at once if the file does not begin like a GGUF file."""

    def receive(self, chunks: Iterable[bytes], *, resume: bool = False) -> Iterable[int]:
        return super().receive(chunks if resume else self._check_magic(chunks), resume=resume)

    def _check_magic(self, chunks: Iterable[bytes]) -> Iterable[bytes]:
        start = b""
        for chunk in chunks:
            if len(start) < len(_MAGIC):
                start += chunk
                if not start.startswith(_MAGIC[: len(start)]):
                    break
            yield chunk
        if not start.startswith(_MAGIC):
            self.path.unlink(missing_ok=True)
            raise UnknownModelError(f"{self.file.path} on the Hub is not a GGUF file; name another file")
