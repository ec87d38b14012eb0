"""Live progress on a terminal (standard error) and in a notebook with widgets, plain lines anywhere else."""

import importlib.util
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as PhaseBar
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from groundset.corpus import Corpus
from groundset.printing import print_above, printable
from programs.types import StepRecord

if TYPE_CHECKING:
    from groundset.engine.planner import Settlement

LINE_EVERY_SECONDS = 10.0
DRAW_EVERY_SECONDS = 0.5  # in a notebook
PATIENCE_SECONDS = 0.8  # after which something that is usually done at once is told
_NAMED_FILES = 20
# How fast samples come changes on the way: the time left follows from the latest of them, once there are a few.
_FEWEST_FOR_PACE, _MOST_FOR_PACE = 3, 12

Usage = Callable[[], Mapping[str, float]]


class Progress:
    """Shows how far a run is: accepted and asked, tries and refusals of each step, calls, tokens, time left.

    ``note`` works at any time, the rest once ``start`` was called.
    """

    def __init__(self, *, quiet: bool = False, console: Console | None = None) -> None:
        """Write to ``console``, by default standard error; with ``quiet`` to nowhere."""
        self._console = console or Console(stderr=True, quiet=quiet)
        # Rich draws in a notebook by widgets. Without them, and where output is no terminal, there are lines.
        self._in_notebook = self._console.is_jupyter and importlib.util.find_spec("ipywidgets") is not None
        self._draws = (self._console.is_terminal or self._in_notebook) and not self._console.quiet
        self._live: Live | None = None
        self._guard = threading.Lock()
        self._asked = self._accepted = self._attempts = 0
        self._tried: Counter[str] = Counter()
        self._refused: Counter[str] = Counter()
        self._usage: Usage = dict
        self._elapsed: Callable[[], float] = time.monotonic
        self._times: deque[float] = deque(maxlen=_MOST_FOR_PACE + 1)  # of the start and of the latest samples
        self._shown = time.monotonic()

    def start(
        self,
        *,
        asked: int,
        accepted: int,
        attempts: int,
        counts: Mapping[str, Mapping[str, int]],
        usage: Usage,
        elapsed: Callable[[], float],
    ) -> None:
        """Start the display of a run from its present state.

        Args:
            asked, accepted, attempts: samples requested and accepted, and attempts decided.
            counts: records and refusals of each step.
            usage: returns the calls and tokens of the run.
            elapsed: returns its seconds.
        """
        self._asked, self._accepted, self._attempts = asked, accepted, attempts
        for step, count in counts.items():
            self._tried[step], self._refused[step] = count["tried"], count["refused"]
        self._usage, self._elapsed = usage, elapsed
        self._shown = time.monotonic()
        self._times.append(self._shown)
        if self._draws:
            self._live = Live(
                get_renderable=self._render,
                console=self._console,
                refresh_per_second=2,
                transient=True,
                # A notebook takes what a thread of Rich draws for output of whichever cell runs: tick does it there.
                auto_refresh=not self._in_notebook,
            )
            self._live.start()

    def note(self, message: str) -> None:
        """Print one line."""
        print_above(self._console, message)

    @contextmanager
    def waiting(self, doing: str) -> Iterator[None]:
        """Print what the block does, if it takes long."""
        timer = threading.Timer(PATIENCE_SECONDS, self.note, [f"{doing}."])
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def going_on(self, folder: Path, accepted: int, asked: int | None, attempts: int) -> None:
        """Print that a run is continued, and what it has; ``asked`` is None where the chunks decide it."""
        self.note(f"Continuing {folder}: {of_asked(accepted, asked)} after {counted(attempts, 'attempt')}.")

    def finished(self, folder: Path, accepted: int, asked: int) -> None:
        """Print that a run was finished before."""
        more = "; a larger --size adds to it" if accepted >= asked else ""
        self.note(f"The run in {folder} is finished: {accepted} of {asked} samples{more}.")

    def reading(self, path: str) -> None:
        """Print which file is read."""
        self.note(f"Reading {path}")

    def read(self, corpus: Corpus, *, every_file: bool) -> None:
        """Print the counts of documents and chunks, and the skipped files: each, or the first ones."""
        named = corpus.skipped if every_file else corpus.skipped[:_NAMED_FILES]
        for skipped in named:
            self.note(f"Skipped {skipped.path}: {skipped.reason}.")
        if len(corpus.skipped) > len(named):
            self.note(f"Skipped {len(corpus.skipped) - len(named)} more files; run.json names them.")
        counts = corpus.counts
        self.note(
            f"{counts.chunks} chunks from {counts.documents} documents (dropped: {counts.dropped_short} too short, "
            f"{counts.dropped_duplicates} duplicates; skipped files: {counts.skipped})."
        )

    def failed(self) -> None:
        """Print that a failed run can be continued."""
        self.note("What was done so far is stored; the same command or call continues from there.")

    @contextmanager
    def phase(self, doing: str, total: int) -> Iterator[Callable[[int], None]]:
        """Show a phase of ``total`` items; call the yielded function with how many more are done."""
        if self._draws:
            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
            with PhaseBar(*columns, console=self._console, transient=True, auto_refresh=not self._in_notebook) as bar:
                task = bar.add_task(doing, total=total)
                yield partial(self._advance, bar, task)
            return
        self.note(f"{doing}: {total:,}.")
        done, shown = 0, time.monotonic()

        def advance(count: int) -> None:
            nonlocal done, shown
            done += count
            if done < total and time.monotonic() - shown >= LINE_EVERY_SECONDS:
                shown = time.monotonic()
                self.note(f"{doing}: {done:,} of {total:,}")

        yield advance

    def _advance(self, bar: PhaseBar, task: TaskID, count: int) -> None:
        bar.advance(task, count)
        if self._in_notebook and time.monotonic() - self._shown >= DRAW_EVERY_SECONDS:
            self._shown = time.monotonic()
            bar.refresh()

    def step(self, record: StepRecord) -> None:
        """Count the record of a step."""
        with self._guard:
            self._tried[record.step] += 1

    def decided(self, settlement: "Settlement") -> None:
        """Count the decision on an attempt."""
        with self._guard:
            self._attempts += 1
            if settlement.sample is not None:
                self._accepted += 1
                self._times.append(time.monotonic())
            self._refused.update(reject.step for reject in settlement.rejects)

    def tick(self) -> None:
        """Print a line if one is due; redraw in a notebook."""
        if self._live is not None and self._in_notebook:
            self._live.refresh()
        if self._live is None and time.monotonic() - self._shown >= LINE_EVERY_SECONDS:
            self._shown = time.monotonic()
            self.note(f"{self._state()}; {self._spent()}")

    def stop(self) -> None:
        """Restore the terminal."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def __enter__(self) -> Self:
        """Return the progress itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Restore the terminal."""
        self.stop()

    def _state(self) -> str:
        return f"{self._accepted} of {self._asked} samples, {counted(self._attempts, 'attempt')}"

    def _spent(self) -> str:
        usage = self._usage()
        parts = [
            counted(round(usage.get("calls", 0)), "call"),
            f"{usage.get('prompt_tokens', 0):,.0f} tokens read ({usage.get('evaluated_tokens', 0):,.0f} of them anew)",
            f"{usage.get('completion_tokens', 0):,.0f} written",
            f"{duration(self._elapsed())} elapsed",
        ]
        done = len(self._times) - 1
        if done >= _FEWEST_FOR_PACE:
            left = (time.monotonic() - self._times[0]) / done * (self._asked - self._accepted)
            parts.append(f"about {roughly(left)} left")
        return ", ".join(parts)

    def _render(self) -> RenderableType:
        with self._guard:
            steps = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
            for heading in ("step", "tried", "refused", "kept"):
                steps.add_column(heading, justify="left" if heading == "step" else "right")
            for step in {**self._tried, **self._refused}:
                tried, refused = self._tried[step], self._refused[step]
                kept = f"{max(0, tried - refused) / tried:.0%}" if tried and refused else ""
                steps.add_row(Text(printable(step)), f"{tried or ''}", f"{refused or ''}", kept)
            bar = ProgressBar(total=max(1, self._asked), completed=self._accepted, width=40)
            return Group(self._state(), bar, steps, self._spent())


def counted(count: int, noun: str) -> str:
    """Return a count with its noun, as text."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def of_asked(accepted: int, asked: int | None) -> str:
    """Return as text how many samples were accepted, of how many requested if that is known."""
    return f"{accepted} samples" if asked is None else f"{accepted} of {asked} samples"


def roughly(seconds: float) -> str:
    """Return an estimated time, rounded to tens of seconds or to minutes."""
    if seconds < 55:
        return duration(max(10, round(seconds, -1)))
    return duration(60 * round(seconds / 60)).removesuffix(" 00 s")


def duration(seconds: float) -> str:
    """Return a time as a person reads it."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"
