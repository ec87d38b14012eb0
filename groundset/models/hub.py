"""Files of the Hugging Face Hub: their names, what is recorded of them, and how they get into the cache.

`huggingface_hub` gives the address (so `HF_ENDPOINT` mirrors work) and the HTTP client (proxies, certificates, offline
mode). The transfer itself is ours: its own download function deletes what an interrupted download left and waits long
for a server that does not answer, whereas here a `.part` file is continued with a range request and an unreachable
server costs a few seconds. A token is sent only for files that a user names; none is stored, and nothing is reported.

The Hub is asked only for a file that is not here. The SHA-256 of a file that a user names is recorded when it first
comes; whatever comes later under the same name must have the same, so weights do not change behind a user's back.
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
from groundset.models.download import ConsoleProgress, PartFile, PullProgress, Report, require_space, storing
from programs.errors import ChecksumError, DownloadError, InputError, ModelError, UnknownModelError
from programs.untrusted import small_text

PREFIX = "hf/"
FORM = "hf/<owner>/<repo>/<file>.gguf"
MAIN = "main"
_FORBIDDEN = r'\\@:*?"<>|'  # in names of files, on one system or another
_NAME = re.compile(
    rf"hf/(?P<repo>\w[\w.-]*/\w[\w.-]*)/(?P<file>[^{_FORBIDDEN}]+\.gguf)(?:@(?P<revision>[^{_FORBIDDEN}\s]+))?",
    re.ASCII | re.IGNORECASE,
)
_ONE_OF_SEVERAL = re.compile(r"-\d+-of-\d+\.gguf$", re.IGNORECASE)
_LONGEST_NAME = 500  # characters; the Hub's names of owners and repositories have 96 at most
_RECORD_BYTES = 1 << 16
CONNECT_TIMEOUT = 4.0
READ_TIMEOUT = 15.0
_TRUE = frozenset({"1", "true", "yes", "on"})
_MAGIC = b"GGUF"


@dataclass(frozen=True, slots=True)
class HubSpec:
    """A GGUF file of the Hugging Face Hub, fetched or not: its hash is known once it has been fetched.

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
        """Return the text that names this file."""
        return f"{PREFIX}{self.repo}/{self.file}" + ("" if self.revision == MAIN else f"@{self.revision}")

    @property
    def folder(self) -> Path:
        """Return the folder that holds what was fetched of this revision, as the repository arranges it."""
        revision = "" if self.revision == MAIN else f"@{quote(self.revision, safe='')}"
        return _home() / f"{self.repo}{revision}"

    @property
    def path(self) -> Path:
        """Return the path of its copy."""
        return self.folder / self.file

    @property
    def key(self) -> str:
        """Return a short name for its lock and its unfinished pieces."""
        return f"hf-{hashlib.sha256(self.name.encode()).hexdigest()[:32]}"


class HubRecord(NamedTuple):
    """The record of a file's first fetch, which pins later ones.

    Attributes:
        commit: of the repository, or the revision where a mirror names none.
        size: in bytes.
        sha256: of its bytes; empty only before the first fetch, for a file whose hash the Hub does not tell.
    """

    commit: str
    size: int
    sha256: str


def parse_hub_name(text: str) -> HubSpec | None:
    """Return the file of the Hub that a text names, None if it does not begin with ``hf/``.

    Raises:
        UnknownModelError: it begins so, and names no file that can be used.
    """
    if not text.startswith(PREFIX):
        return None
    found = _NAME.fullmatch(text) if len(text) <= _LONGEST_NAME and text.isprintable() else None
    spec = HubSpec(found["repo"], found["file"], found["revision"] or MAIN) if found else None
    if spec is None or not _is_plain(spec.file) or not _is_plain(spec.revision):
        raise UnknownModelError(
            f"{text[:_LONGEST_NAME]!r} names no file of the Hugging Face Hub: {FORM} does, or the same with "
            "@<revision>; ./hf/… is a file of this machine"
        )
    if _ONE_OF_SEVERAL.search(spec.file):
        raise UnknownModelError(f"{text} is one part of a model in several files; name one that is a single file")
    return spec


def read_record(spec: HubSpec) -> HubRecord | None:
    """Return the record of a file, None if it was never fetched."""
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
    raise ModelError(f"{file} is damaged, so nobody knows which {spec.name} was fetched; delete it to fetch anew")


def write_record(spec: HubSpec, record: HubRecord) -> None:
    """Record what was fetched, beside it."""
    write_text(record_file(spec), json.dumps({"name": spec.name, **record._asdict()}, indent=2) + "\n")


def fetched_files() -> Iterator[tuple[HubSpec, HubRecord]]:
    """Yield what was fetched from the Hub by name, in the order of names, except where the record is damaged."""
    for file in sorted(_home().rglob("*.json")):
        try:
            spec = parse_hub_name(str(json.loads(small_text(file, _RECORD_BYTES))["name"]))
            record = read_record(spec) if spec is not None and record_file(spec) == file else None
        except (OSError, InputError, ModelError, ValueError, KeyError, TypeError, RecursionError):
            continue
        if spec is not None and record is not None:
            yield spec, record


def record_file(spec: HubSpec) -> Path:
    """Return the file that holds the record of a file."""
    return spec.path.with_name(f"{spec.path.name}.json")


def _is_plain(path: str) -> bool:
    """Return whether no part of a path is empty or means another folder."""
    return all(part and part == part.strip(" .") for part in path.split("/"))


def _home() -> Path:
    return cache_home() / "models" / "hf"


def hub_enabled(choice: bool | None) -> bool:
    """Return whether the Hub is asked: as chosen, else if `GROUNDSET_HUB` is set and `HF_HUB_OFFLINE` is not."""
    if choice is not None:
        return choice
    offline = os.environ.get("HF_HUB_OFFLINE", "").lower() in _TRUE
    return os.environ.get("GROUNDSET_HUB", "").lower() in _TRUE and not offline


def hub_answers() -> bool:
    """Return within a few seconds whether the Hub can be reached; offline it is not asked."""
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
    """Download `files` from the Hub into `folder`, continuing what an interrupted attempt left in `staging`.

    Raises:
        DownloadError: The Hub cannot be reached or refuses; what arrived is kept for the next attempt.
        ChecksumError: A file is not what `files` says; it has been deleted.
    """
    unfinished = [part(file, staging) for file in files]
    total = sum(file.size for file in files)
    require_space(staging, total - sum(piece.size() for piece in unfinished))
    done = 0
    with progress.stage(f"Downloading from the Hugging Face Hub ({source.repo})", total) as report:
        for piece in unfinished:
            _fetch_file(source, piece, token, report, done)
            piece.install(folder / piece.file.path)
            done += piece.file.size


def _fetch_file(source: HubSource, part: PartFile, token: str | None, report: Report, done: int) -> None:
    """Receive one file; a broken connection is taken up again as long as every attempt brings new bytes."""
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
        headers["Authorization"] = f"Bearer {token}"  # which the client does not send on to another host
    if offset:
        headers["Range"] = f"bytes={offset}-"
    timeout = httpx.Timeout(READ_TIMEOUT, connect=CONNECT_TIMEOUT)
    try:
        with get_session().stream("GET", url, headers=headers, timeout=timeout) as response:
            response.raise_for_status()
            resumed = response.status_code == httpx.codes.PARTIAL_CONTENT
            yield from part.receive(response.iter_bytes(), resume=resumed)
    except OfflineModeIsEnabled as error:
        raise DownloadError("the Hugging Face Hub is switched off by HF_HUB_OFFLINE") from error
    except httpx.HTTPStatusError as error:
        raise DownloadError(
            f"the Hugging Face Hub answered {error.response.status_code} for {source.repo}/{part.file.path}"
        ) from error
    except httpx.HTTPError as error:
        reason = str(error) or type(error).__name__
        raise DownloadError(f"the Hugging Face Hub cannot be reached ({reason})") from error


def pull_hub_file(spec: HubSpec, *, progress: PullProgress | None = None) -> tuple[Path, str]:
    """Return the verified copy of a file of the Hub and its SHA-256; it is fetched if it is missing or damaged.

    Raises:
        UnknownModelError: there is no such repository, revision or file, or it is not a GGUF file.
        UnreachableModelError: the Hub does not answer, or wants a token.
        WeightsError: the file is larger than the memory.
        ModelError: it cannot be fetched or stored, or is another one than was fetched first.
    """
    from groundset.models.hub_client import online

    progress = progress or ConsoleProgress()
    with storing(spec.name, f"room at {spec.folder}", spec.path):
        record = _whole(spec)
        if record is None:
            wait = f"Another process is pulling {spec.name}; waiting for it."
            with model_lock(spec.key, lambda: progress.note(wait)), online():
                record = _whole(spec) or _pull(spec, progress)
    return spec.path, record.sha256


def fetched_sha256(spec: HubSpec) -> str | None:
    """Return the SHA-256 of a file of the Hub, None if it was never fetched."""
    record = read_record(spec)
    return record and record.sha256


def _whole(spec: HubSpec) -> HubRecord | None:
    """Return the record of a file whose copy is what was recorded, None if it has to be fetched."""
    record = read_record(spec)
    return record if record and is_verified(_described(spec, record), spec.path) else None


def _described(spec: HubSpec, record: HubRecord) -> ModelFile:
    return ModelFile(spec.file, record.size, record.sha256)


def _pull(spec: HubSpec, progress: PullProgress) -> HubRecord:
    """Fetch a file and record what came, or fetch again what was recorded."""
    from groundset.models.hub_client import describe, hub_token

    known = read_record(spec)
    if known and spec.path.exists():
        progress.note(f"{spec.path} is not what was fetched first: it is fetched again.")
    record = describe(spec, known.commit if known else spec.revision)
    if known and record.sha256 and known.sha256 != record.sha256:
        raise ChecksumError(_changed(spec, known, record.sha256))
    record = known or record
    if not is_verified(_described(spec, record), spec.path):
        _fetch(spec, record, progress, hub_token())
    record = record._replace(sha256=file_sha256(spec.path))
    if known is None:
        write_record(spec, record)
    progress.note(f"{spec.name} is verified and ready (SHA-256 {record.sha256}).")
    return record


def _fetch(spec: HubSpec, record: HubRecord, progress: PullProgress, token: str | None) -> None:
    pieces = cache_home() / "partial" / spec.key
    staging = pieces / (record.sha256 or record.commit.replace("/", "-"))
    for other in pieces.iterdir() if pieces.is_dir() else ():
        if other != staging:  # of a file that the Hub has replaced since
            shutil.rmtree(other, ignore_errors=True)
    source, files = HubSource(spec.repo, record.commit), (_described(spec, record),)
    try:
        fetch_from_hub(source, files, staging, spec.folder, progress, part=_GGUFPart, token=token)
    except DownloadError as error:
        raise DownloadError(f"{error}; the same command continues where {spec.name} stopped") from error
    except ChecksumError as error:
        raise ChecksumError(f"{spec.name} cannot be pulled: {error}") from error
    shutil.rmtree(pieces, ignore_errors=True)


def _changed(spec: HubSpec, known: HubRecord, now: str) -> str:
    return (
        f"{spec.name} was fetched with SHA-256 {known.sha256[:16]}…, and the Hub has another file now ({now[:16]}…): "
        f"delete {record_file(spec)} to take that one."
    )


class _GGUFPart(PartFile):
    """A download that is refused at once if it does not begin as a GGUF file."""

    def receive(self, chunks: Iterable[bytes], *, resume: bool = False) -> Iterable[int]:
        return super().receive(chunks if resume else self._beginning(chunks), resume=resume)

    def _beginning(self, chunks: Iterable[bytes]) -> Iterable[bytes]:
        begun = b""
        for chunk in chunks:
            if len(begun) < len(_MAGIC):
                begun += chunk
                if not begun.startswith(_MAGIC[: len(begun)]):
                    break
            yield chunk
        if not begun.startswith(_MAGIC):
            self.path.unlink(missing_ok=True)
            raise UnknownModelError(f"{self.file.path} of the Hub is not a GGUF file; name one that is")
