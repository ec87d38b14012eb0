"""Bring a file that a user names on the Hugging Face Hub into the cache, and hold it to what it was when it came.

The Hub is asked only for a file that is not here. Its SHA-256 is recorded when it first comes; whatever comes later
under the same name has to have the same, so weights do not change behind a user's back.
"""

import shutil
from collections.abc import Iterable
from pathlib import Path

from groundset.models.cache import cache_home, file_sha256, is_verified, model_lock
from groundset.models.catalogue import HubSource, ModelFile
from groundset.models.hub import fetch_from_hub
from groundset.models.hub_names import HubRecord, HubSpec, read_record, record_file, write_record
from groundset.models.parts import PartFile
from groundset.models.progress import ConsoleProgress, PullProgress
from groundset.models.pull import storing
from programs.errors import ChecksumError, DownloadError, UnknownModelError

_MAGIC = b"GGUF"


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
    """Return the SHA-256 of a file of the Hub, None if it was never fetched.

    Raises:
        ModelError: what was recorded of it cannot be read.
    """
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
    from groundset.models.hub_asking import describe
    from groundset.models.hub_client import hub_token

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
        raise DownloadError(f"{error} The same command goes on where {spec.name} stopped.") from error
    except ChecksumError as error:
        raise ChecksumError(f"{spec.name} cannot be pulled: {error}") from error
    shutil.rmtree(pieces, ignore_errors=True)


def _changed(spec: HubSpec, known: HubRecord, now: str) -> str:
    return (
        f"{spec.name} was fetched with SHA-256 {known.sha256[:16]}…, and the Hub has another file now ({now[:16]}…): "
        f"delete {record_file(spec)} to take that one."
    )


class _GGUFPart(PartFile):
    """A file on its way that is refused, before it has come, if it does not begin as GGUF files do."""

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
            raise UnknownModelError(f"{self.file.path} of the Hub is not a GGUF file; name one that is.")
