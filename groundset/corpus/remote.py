"""Files behind URLs: find them and copy them, with fsspec.

Credentials come from the environment, as each storage documents it. fsspec and the packages of a storage are imported
only when a URL is named. Listings are read anew each time, because buckets change.
"""

import hashlib
import tempfile
import time
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from groundset.privacy import without_secrets
from groundset.sources import Url
from groundset.working_folders import working_folder
from programs.errors import GroundsetError, InputError

GLOB = frozenset("*?[")
_BLOCK = 1 << 20
_PAUSES = (1.0, 4.0)  # seconds before a file is read again
_WAIT = 60.0  # seconds for an answer of a web server
_EXTRAS = {"s3": "s3", "s3a": "s3", "gs": "gs", "gcs": "gs"}
_CREDENTIALS = {
    "s3": "AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; for a public bucket FSSPEC_S3_ANON=true",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS; for a public bucket FSSPEC_GS_TOKEN=anon",
    "hf": "HF_TOKEN",
}


@dataclass(frozen=True)
class RemoteFile:
    """A file behind a URL; can be sent to another process, which reads it itself.

    Attributes:
        source: the URL that the user named.
        path: its path in the storage.
        size: in bytes, None if it is unknown.
        modified: when it was last changed, if known.
        content_id: a name that the storage gives to its content and changes with it; empty if there is none.
    """

    source: Url
    path: str
    size: int | None = None
    modified: datetime | None = None
    content_id: str = ""

    @property
    def name(self) -> str:
        """Return the last part of its path."""
        return PurePosixPath(self.path).name

    @property
    def suffix(self) -> str:
        """Return the suffix of its name."""
        return PurePosixPath(self.path).suffix

    def __str__(self) -> str:
        """Return its URL."""
        return self.path if "://" in self.path else f"{self.source.protocol}://{self.path.lstrip('/')}"


class FoundRemote(NamedTuple):
    """A remote file, and its path below the named folder as parts."""

    file: RemoteFile
    parts: tuple[str, ...]


class TooLargeError(Exception):
    """A file is larger than allowed."""


class _UnreadableError(InputError):
    """A file cannot be read now, perhaps later."""


def find_remote(url: Url) -> list[FoundRemote]:
    """Return the files that a URL names: one, those in a folder, or those that match a glob, without hidden ones.

    Raises:
        InputError: there are none, or the storage cannot be read.
    """
    with _storage(url, anew=True) as (storage, path):
        if url.is_http:
            if url.endswith("/"):
                raise InputError(f"{url}: web servers have no folders; name each file")
            return [FoundRemote(_remote_file(url, path, storage.info(path)), (url.name,))]
        try:
            info = storage.info(path)
        except FileNotFoundError:
            if not GLOB & set(path):
                raise
            return _glob(url, storage, path)
        root = str(info["name"]).rstrip("/")
        if info["type"] != "directory":
            return [FoundRemote(_remote_file(url, root, info), (PurePosixPath(root).name,))]
        return _in_folder(url, storage.find(root, detail=True), root)


def _glob(url: Url, storage: Any, pattern: str) -> list[FoundRemote]:
    fixed = pattern[: min(pattern.index(character) for character in GLOB & set(pattern))]
    root = fixed.rpartition("/")[0]
    infos: dict[str, Any] = {}
    for name, info in storage.glob(pattern, detail=True).items():
        infos |= storage.find(name, detail=True) if info["type"] == "directory" else {name: info}
    found = _in_folder(url, infos, root)
    if not found:
        raise InputError(f"no file matches {url}")
    return found


def _in_folder(url: Url, infos: dict[str, Any], root: str) -> list[FoundRemote]:
    found = []
    for name, info in sorted(infos.items()):
        parts = PurePosixPath(name).relative_to(root).parts
        if info["type"] == "file" and not any(part.startswith(".") for part in parts):
            found.append(FoundRemote(_remote_file(url, name, info), parts))
    return found


def _remote_file(url: Url, path: str, info: dict[str, Any]) -> RemoteFile:
    return RemoteFile(url, path, info.get("size"), _modified(info), _content_id(url.protocol, info))


def _modified(info: dict[str, Any]) -> datetime | None:
    """Return when a file was last changed, which storages call differently; None if they do not tell."""
    value = next((info[name] for name in ("LastModified", "updated", "mtime", "created") if info.get(name)), None)
    if isinstance(value, float | int):
        return datetime.fromtimestamp(value, UTC)
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    return value.astimezone(UTC) if isinstance(value, datetime) else None


def _content_id(protocol: str, info: dict[str, Any]) -> str:
    """Return the hash or tag that a storage derives from the content of a file, empty if it documents none."""
    if protocol == "hf":
        lfs = info.get("lfs")
        return str(lfs["sha256"] if lfs else info.get("blob_id") or "")
    names = {"s3": ("ETag",), "gs": ("md5Hash", "crc32c")}.get(_EXTRAS.get(protocol, ""), ())
    return next((f"{name} {info[name]}" for name in names if info.get(name)), "")


def content_digest(file: RemoteFile) -> str:
    """Return what identifies the content of a file: the name that its storage gives it, else the SHA-256 of its bytes.

    Raises:
        InputError: it cannot be read.
    """
    if file.content_id:
        return file.content_id
    digest = hashlib.sha256()
    for block in _blocks(file):
        digest.update(block)
    return digest.hexdigest()


@contextmanager
def copied(file: RemoteFile, most: int) -> Iterator[Path]:
    """Yield a temporary copy of a file; after a failure that may pass, it is read again.

    Raises:
        TooLargeError: it has more than ``most`` bytes; only these were read.
        InputError: it cannot be read, or the copy cannot be written.
    """
    if (file.size or 0) > most:
        raise TooLargeError
    place = Path(tempfile.gettempdir())
    with ExitStack() as stack:
        try:
            target = stack.enter_context(working_folder(place)) / "copy"
        except OSError as error:
            raise _not_stored(file, place, error) from error
        for pause in (*_PAUSES, None):
            try:
                _copy(file, target, most)
                break
            except _UnreadableError:
                if pause is None:
                    raise
                time.sleep(pause)
        yield target


def _not_stored(file: RemoteFile, place: Path, error: OSError) -> InputError:
    return InputError(f"{file}: cannot be copied to {place}: {error.strerror or error}; set TMPDIR")


def _copy(file: RemoteFile, target: Path, most: int) -> None:
    left = most
    with closing(_blocks(file)) as blocks:
        try:
            with target.open("wb") as copy:
                for block in blocks:
                    left -= len(block)
                    if left < 0:
                        raise TooLargeError
                    copy.write(block)
        except OSError as error:
            raise _not_stored(file, target.parent.parent, error) from error


def _blocks(file: RemoteFile) -> Generator[bytes]:
    streamed = {"block_size": 0} if file.source.is_http or file.source.protocol == "hf" else {}  # by one request
    with _storage(file.source, str(file)) as (storage, _), storage.open(file.path, "rb", **streamed) as stream:
        while block := stream.read(_BLOCK):
            yield block


@contextmanager
def _storage(url: Url, shown: str = "", *, anew: bool = False) -> Iterator[tuple[Any, str]]:
    """Yield the fsspec filesystem of a URL and the path in it; errors in the block become an ``InputError``.

    fsspec keeps filesystems with their listings and credentials; ``anew`` forgets them. It is set to find files, by the
    process of the command, and not to read them, perhaps by others.
    """
    network: AbstractContextManager[Any] = nullcontext()
    try:
        import fsspec

        options: dict[str, Any] = {}
        if url.protocol == "hf":
            from groundset.models.hub_client import hub_address, hub_token, online

            options, network = {"endpoint": hub_address().endpoint, "token": hub_token()}, online(checked=not anew)
        elif url.is_http:
            from aiohttp import ClientTimeout

            timeout = ClientTimeout(total=None, sock_connect=_WAIT, sock_read=_WAIT)
            options = {"client_kwargs": {"trust_env": True, "timeout": timeout}}
        if anew:
            fsspec.get_filesystem_class(url.protocol).clear_instance_cache()
        with network:
            yield fsspec.url_to_fs(str(url), **options)
    except GroundsetError:
        raise
    except Exception as error:  # every storage has its own errors
        raise _explained(url, shown or url, error) from error


def _explained(url: Url, shown: str, error: Exception) -> InputError:
    if isinstance(error, FileNotFoundError) and isinstance(error.__cause__, Exception) and url.is_http:
        error = error.__cause__  # fsspec calls every failure of a web server so
    extra, credentials = _EXTRAS.get(url.protocol), _CREDENTIALS.get(_EXTRAS.get(url.protocol, url.protocol))
    if isinstance(error, ImportError):
        fix = f"install it with `pip install 'groundset[{extra}]'`" if extra else str(error)
        return InputError(f"{shown}: needs another package; {fix}")
    status = getattr(error, "status", None) or getattr(getattr(error, "response", None), "status_code", None)
    if isinstance(error, FileNotFoundError) or status == 404:
        return InputError(f"{shown}: no such bucket, folder or file")
    reason = without_secrets((str(error) or type(error).__name__).splitlines()[0])
    hint = f"; credentials are taken from {credentials}" if credentials else ""
    if isinstance(error, PermissionError) or status in (401, 403):
        return InputError(f"{shown}: no permission ({reason}){hint}")
    if isinstance(error, ValueError):
        return InputError(f"{shown}: cannot be read ({reason})")
    return _UnreadableError(f"{shown}: cannot be read ({reason}); check the connection{hint}")
