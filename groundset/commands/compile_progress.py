"""What `groundset compile` shows while it runs."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from groundset.printing import tell


class Told:
    """Says on standard error what happens; optimizers print on the streams of Python, so this keeps its own."""

    def __init__(self) -> None:
        """Make the bar; entering it shows it."""
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self._console = Console(file=sys.stderr)
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self.bar = Progress(*columns, console=self._console, disable=not self._console.is_terminal, transient=True)
        self._task: Any = None

    def start(self, step: str, calls: int, what: str = "calls") -> None:
        """Say that a step begins, and begin its bar."""
        self.say(f"Compiling {step}: about {calls} {what}")
        if self._task is not None:
            self.bar.remove_task(self._task)
        self._task = self.bar.add_task(step, total=calls)

    def call(self) -> None:
        """Move the bar on."""
        self.bar.advance(self._task)

    def say(self, said: str) -> None:
        """Say what comes next."""
        tell(self._console, f"{said}.")


@contextmanager
def progress() -> Iterator[Told]:
    """Show a bar while a compile runs, where there is a terminal."""
    told = Told()
    with told.bar:
        yield told
