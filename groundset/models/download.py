"""Downloads: partial files verified while they are written, disk space and progress."""

import errno
import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from groundset.models.cache import record_sha256
from groundset.models.catalogue import ModelFile
from groundset.printing import print_above
from programs.errors import ChecksumError, ModelError

_FULL_DISK = frozenset({errno.ENOSPC, errno.EDQUOT})


class PartFile:
    """The `.part` file of one model file, which never exceeds the known size."""

    def __init__(self, file: ModelFile, staging: Path) -> None:
        """Use a `.part` file in the folder `staging`."""
        self.file = file
        self.path = staging / f"{file.path}.part"
        self._sha256 = file.sha256

    def size(self) -> int:
        """Return the number of bytes downloaded so far."""
        return self.path.stat().st_size if self.path.is_file() else 0

    def receive(self, chunks: Iterable[bytes], *, resume: bool = False) -> Iterable[int]:
        """Write `chunks`, appending to the existing bytes if `resume`, and yield the current size.

        Raises:
            ChecksumError: The size or hash is wrong; the `.part` file has been deleted.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        digest = hashlib.sha256()
        with self.path.open("r+b" if resume else "wb") as stream:
            while block := stream.read(1 << 20) if resume else b"":
                digest.update(block)
            reached = stream.tell()
            for chunk in chunks:
                reached += len(chunk)
                if reached > self.file.size:
                    break
                digest.update(chunk)
                stream.write(chunk)
                yield reached
            stream.flush()
            os.fsync(stream.fileno())
        if reached < self.file.size:
            self._reject(f"ends after {reached:,} of {self.file.size:,} bytes")
        if reached > self.file.size:
            self._reject(f"is longer than {self.file.size:,} bytes")
        self._sha256 = digest.hexdigest()
        if self.file.sha256 not in ("", self._sha256):
            self._reject(f"has SHA-256 {self._sha256} instead of {self.file.sha256}")

    def install(self, target: Path) -> None:
        """Move the complete file to `target` and record its hash."""
        target.parent.mkdir(parents=True, exist_ok=True)
        self.path.replace(target)
        record_sha256(target, self._sha256)

    def _reject(self, reason: str) -> None:
        self.path.unlink(missing_ok=True)
        raise ChecksumError(f"{self.file.path} {reason}; deleted")


def require_space(folder: Path, needed: int) -> None:
    """Raise a `ModelError` unless the disk of `folder` has `needed` bytes free."""
    folder.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise ModelError(
            f"not enough disk space in {folder}: {human_size(needed)} needed, {human_size(free)} free "
            "(GROUNDSET_HOME moves the cache)"
        )


@contextmanager
def explain_storage_errors(name: str, needs: str, target: Path) -> Iterator[None]:
    """Convert each ``OSError`` in the block to a ``ModelError``.

    Args:
        name: of the model.
        needs: the space it needs, for the message about a full disk.
        target: where the model is stored.
    """
    try:
        yield
    except OSError as error:
        if error.errno in _FULL_DISK:
            raise ModelError(f"the disk is full: {name} needs {needs} (GROUNDSET_HOME moves the cache)") from error
        where = error.filename or target
        raise ModelError(f"{name} cannot be stored: {error.strerror or error} ({where})") from error


Report = Callable[[int], None]

_LINE_EVERY_SECONDS = 10.0


class PullProgress(Protocol):
    """The progress interface of `pull`."""

    def stage(self, description: str, total: int) -> AbstractContextManager[Report]:
        """Open a stage of `total` bytes; yields a function to call with the bytes done so far."""

    def note(self, message: str) -> None:
        """Print one line."""


class ConsoleProgress:
    """Progress on a rich console, standard error by default."""

    def __init__(self, console: Console | None = None) -> None:
        """Write to `console`, or to standard error."""
        self._console = console or Console(stderr=True)

    def note(self, message: str) -> None:
        """Print one line."""
        print_above(self._console, message)

    @contextmanager
    def stage(self, description: str, total: int) -> Iterator[Report]:
        """Show a bar, or lines with the percentage if the console is not a terminal."""
        if self._console.is_terminal:
            columns = (
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                DownloadColumn(),
                TransferSpeedColumn(),
                TimeRemainingColumn(),
            )
            with Progress(*columns, console=self._console) as progress:
                task = progress.add_task(description, total=total)
                yield lambda done: progress.update(task, completed=done)
        else:
            yield self._lines(description, total)

    def _lines(self, description: str, total: int) -> Report:
        self.note(f"{description} ({human_size(total)})")
        shown_at, shown = time.monotonic(), 0

        def report(done: int) -> None:
            nonlocal shown_at, shown
            percent = 100 * done // max(total, 1)
            if percent > shown and (percent == 100 or time.monotonic() - shown_at >= _LINE_EVERY_SECONDS):
                self.note(f"{description}: {percent} %")
                shown_at, shown = time.monotonic(), percent

        return report


class SilentProgress:
    """Progress that shows nothing."""

    @contextmanager
    def stage(self, description: str, total: int) -> Iterator[Report]:  # noqa: ARG002 - the protocol's names
        """Ignore the stage."""
        yield lambda _done: None

    def note(self, message: str) -> None:
        """Ignore the message."""


def human_size(size: int) -> str:
    """Format a number of bytes."""
    if size >= 1_000_000_000:
        return f"{size / 1e9:.2f} GB"
    return f"{size / 1e6:.1f} MB" if size >= 100_000 else f"{size:,} bytes"
