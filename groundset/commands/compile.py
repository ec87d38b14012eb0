"""`groundset compile`: fit steps to labels."""

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from groundset.commands.declare import Command
from groundset.commands.output.tables import print_table
from groundset.compiling.options import CompileOptions
from groundset.printing import print_above, say

if TYPE_CHECKING:
    from groundset.tracking.compiles import CompileStore

_INTERRUPTED = 130


def compile_steps(options: CompileOptions) -> None:
    """Compile the steps, and print each report and the files of states."""
    from groundset.compiling.compiler import compile_steps as compile_each
    from groundset.tracking.compiles import CompileRuns
    from optimizers.report import CompileReport

    files: list[Path] = []
    lines: list[str] = []
    open_store = partial(_open_store, options.tracking, options.track_texts) if options.track else None
    try:
        with CompileRuns(open_store, _not_tracked) as runs, _Progress() as progress:
            for report, file in compile_each(options, progress, runs.start):
                files.append(file)
                lines.append(report.one_line)
                say()
                say(report.summary)
                print_table(*report.table)
                if isinstance(report, CompileReport) and (tracked := runs.finish(report)):
                    say(f"Logged to MLflow as run {tracked}.")
                if report.ending == "interrupted":
                    raise KeyboardInterrupt
    except KeyboardInterrupt:
        _end(files, [])
        saved = bool(files) and report.ending == "interrupted"
        best = "the best candidate so far is kept, without test results; " if saved else ""
        say(f"Interrupted: {best}repeat the command to continue.", err=not saved)
        raise typer.Exit(_INTERRUPTED) from None
    _end(files, lines if len(options.steps) > 1 or "all" in options.steps else [])


def _end(files: list[Path], lines: list[str]) -> None:
    """Print the files of states, and the summary line of each step."""
    if files:
        say()
        say(f"States: {', '.join(map(str, files))}.")
    if lines:
        say()
        for line in lines:
            say(line)


def _open_store(tracking: str | None, texts: bool) -> "CompileStore":
    from groundset.tracking.compiles import CompileStore

    store = CompileStore.open(tracking, texts=texts)
    if texts and store.host:
        say(f"Sending texts to the tracking store at {store.host}.", err=True)
    return store


def _not_tracked(error: Exception) -> None:
    say(f"Not tracked: {error}; --no-track disables tracking.", err=True)


class _Progress:
    """Prints progress on standard error, with a bar on a terminal.

    It keeps its own stream, because the standard streams are redirected while optimizers run.
    """

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self._console = Console(file=sys.stderr)
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._bar = Progress(*columns, console=self._console, disable=not self._console.is_terminal, transient=True)
        self._task: Any = None

    def __enter__(self) -> "_Progress":
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    def start(self, step: str, calls: int, unit: str = "calls") -> None:
        self.say(f"Compiling {step}: about {calls} {unit}")
        if self._task is not None:
            self._bar.remove_task(self._task)
        self._task = self._bar.add_task(step, total=calls)

    def call(self) -> None:
        self._bar.advance(self._task)

    def say(self, message: str) -> None:
        print_above(self._console, f"{message}.")


COMMAND = Command("compile", CompileOptions, compile_steps, rank=17)
