"""How a download tells what it does: a bar on a terminal, plain lines anywhere else."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
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

from groundset.printing import tell

Report = Callable[[int], None]

_LINE_EVERY_SECONDS = 10.0


class PullProgress(Protocol):
    """What `pull` needs from whoever shows its progress."""

    def stage(self, description: str, total: int) -> AbstractContextManager[Report]:
        """Open a stage of `total` bytes; the function it yields is told the bytes done so far."""

    def note(self, message: str) -> None:
        """Say one line."""


class ConsoleProgress:
    """Progress on a rich console, standard error by default."""

    def __init__(self, console: Console | None = None) -> None:
        """Write to `console`, or to standard error."""
        self._console = console or Console(stderr=True)

    def note(self, message: str) -> None:
        """Print one line."""
        tell(self._console, message)

    @contextmanager
    def stage(self, description: str, total: int) -> Iterator[Report]:
        """Show a bar, or lines with the percentage when the console is no terminal."""
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
    """Return a number of bytes as a person reads it."""
    if size >= 1_000_000_000:
        return f"{size / 1e9:.2f} GB"
    return f"{size / 1e6:.1f} MB" if size >= 100_000 else f"{size:,} bytes"
