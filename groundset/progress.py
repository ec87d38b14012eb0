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

from groundset.cost import Price, money
from groundset.printing import print_above, printable
from programs.types import StepRecord

if TYPE_CHECKING:
    from groundset.corpus.corpus import Corpus
    from groundset.engine.planner import Settlement

LINE_EVERY_SECONDS = 10.0
DRAW_EVERY_SECONDS = 0.5  # in a notebook
PATIENCE_SECONDS = 0.8  # a wait longer than this is announced
_NAMED_FILES = 20
# The rate of samples changes during a run, so the time left is estimated from the latest ones.
_MIN_FOR_RATE, _MAX_FOR_RATE = 3, 12

Usage = Callable[[], Mapping[str, float]]


class Progress:
    """Shows the state of a run: accepted samples, candidates of each step, calls, tokens, time left."""

    def __init__(self, *, quiet: bool = False, console: Console | None = None) -> None:
        """Write to ``console``, by default standard error; with ``quiet`` nowhere."""
        self._console = console or Console(stderr=True, quiet=quiet)
        # In notebooks Rich draws with widgets. Without them, and outside terminals, plain lines are printed.
        self._in_notebook = self._console.is_jupyter and importlib.util.find_spec("ipywidgets") is not None
        self._draws = (self._console.is_terminal or self._in_notebook) and not self._console.quiet
        self._live: Live | None = None
        self._guard = threading.Lock()
        self._requested = self._accepted = self._attempts = 0
        self._tried: Counter[str] = Counter()
        self._refused: Counter[str] = Counter()
        self._usage: Usage = dict
        self._elapsed: Callable[[], float] = time.monotonic
        self._price: Price | None = None
        self._times: deque[float] = deque(maxlen=_MAX_FOR_RATE + 1)  # of the start and the latest samples
        self._shown = time.monotonic()
        self._is_started = False
        self._beside = ""  # the state of a phase that goes on while attempts run
        self._bar: PhaseBar | None = None  # of that phase, until the display of the run starts

    def start(
        self,
        *,
        requested: int,
        accepted: int,
        attempts: int,
        counts: Mapping[str, Mapping[str, int]],
        usage: Usage,
        elapsed: Callable[[], float],
        price: Price | None = None,
    ) -> None:
        """Start the display of a run with its current state.

        Args:
            requested, accepted, attempts: requested and accepted samples, and decided attempts.
            counts: tried and refused candidates of each step.
            usage: returns the calls and tokens of the run.
            elapsed: returns the elapsed seconds.
            price: the price of tokens, to show what the run costs.
        """
        self._requested, self._accepted, self._attempts = requested, accepted, attempts
        for step, count in counts.items():
            self._tried[step], self._refused[step] = count["tried"], count["refused"]
        self._usage, self._elapsed, self._price = usage, elapsed, price
        self._shown = time.monotonic()
        self._times.append(self._shown)
        self._is_started = True
        if self._bar is not None:
            self._bar.stop()
        if self._draws:
            self._live = Live(
                get_renderable=self._render,
                console=self._console,
                refresh_per_second=2,
                transient=True,
                # A notebook attributes drawing of a Rich thread to the running cell, so tick draws there.
                auto_refresh=not self._in_notebook,
            )
            self._live.start()

    def note(self, message: str) -> None:
        """Print one line."""
        print_above(self._console, message)

    @contextmanager
    def waiting(self, doing: str) -> Iterator[None]:
        """Print ``doing`` if the block takes long."""
        timer = threading.Timer(PATIENCE_SECONDS, self.note, [f"{doing}."])
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def continuing(self, folder: Path, accepted: int, requested: int | None, attempts: int) -> None:
        """Print that a run is continued; ``requested`` is None if it depends on the chunks."""
        self.note(f"Continuing {folder}: {of_requested(accepted, requested)} after {counted(attempts, 'attempt')}.")

    def finished(self, folder: Path, accepted: int, requested: int) -> None:
        """Print that a run is already finished."""
        more = "; a larger --size adds to it" if accepted >= requested else ""
        self.note(f"The run in {folder} is finished: {accepted} of {requested} samples{more}.")

    def reading(self, path: str) -> None:
        """Print the name of a file."""
        self.note(f"Reading {path}")

    def read(self, corpus: "Corpus", *, every_file: bool) -> None:
        """Print the counts of documents and chunks, and all or the first skipped files."""
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
        self.note("Finished work is stored; the same command or call continues from there.")

    @contextmanager
    def background(self, doing: str, total: int) -> Iterator[Callable[[int], None]]:
        """Show a phase like :meth:`phase`, which may go on after :meth:`start`; nothing for no items."""
        if not total:
            yield lambda _: None
            return
        done = 0
        with self._phase(doing, total) as (bar, advance_alone):
            self._bar = bar

            def advance(count: int) -> None:
                nonlocal done
                done += count
                self._beside = f", {doing[0].lower()}{doing[1:]}: {done:,} of {total:,}" if done < total else ""
                if not self._is_started:
                    advance_alone(count)

            yield advance
        self._bar, self._beside = None, ""

    @contextmanager
    def phase(self, doing: str, total: int) -> Iterator[Callable[[int], None]]:
        """Show a phase of ``total`` items; the yielded function advances it."""
        with self._phase(doing, total) as (_, advance):
            yield advance

    @contextmanager
    def _phase(self, doing: str, total: int) -> Iterator[tuple[PhaseBar | None, Callable[[int], None]]]:
        if self._draws:
            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
            with PhaseBar(*columns, console=self._console, transient=True, auto_refresh=not self._in_notebook) as bar:
                task = bar.add_task(doing, total=total)
                yield bar, partial(self._advance, bar, task)
            return
        self.note(f"{doing}: {total:,}.")
        done, shown = 0, time.monotonic()

        def advance(count: int) -> None:
            nonlocal done, shown
            done += count
            if done < total and time.monotonic() - shown >= LINE_EVERY_SECONDS:
                shown = time.monotonic()
                self.note(f"{doing}: {done:,} of {total:,}")

        yield None, advance

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
        state = f"{self._accepted} of {self._requested} samples, {counted(self._attempts, 'attempt')}"
        return state + self._beside

    def _spent(self) -> str:
        usage = self._usage()
        parts = [
            counted(round(usage.get("calls", 0)), "call"),
            f"{usage.get('prompt_tokens', 0):,.0f} prompt tokens ({usage.get('evaluated_tokens', 0):,.0f} uncached)",
            f"{usage.get('completion_tokens', 0):,.0f} generated",
            f"{duration(self._elapsed())} elapsed",
        ]
        if self._price is not None:
            parts.append(self._cost(self._price.of_usage(usage)))
        done = len(self._times) - 1
        if done >= _MIN_FOR_RATE:
            left = (time.monotonic() - self._times[0]) / done * (self._requested - self._accepted)
            parts.append(f"about {roughly(left)} left")
        return ", ".join(parts)

    def _cost(self, cost: float) -> str:
        if not self._accepted:
            return f"cost {money(cost)}"
        each = cost / self._accepted
        return f"cost {money(cost)} ({money(each)} a sample, about {money(each * self._requested)} in all)"

    def _render(self) -> RenderableType:
        with self._guard:
            steps = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
            for heading in ("step", "tried", "refused", "kept"):
                steps.add_column(heading, justify="left" if heading == "step" else "right")
            for step in {**self._tried, **self._refused}:
                tried, refused = self._tried[step], self._refused[step]
                kept = f"{max(0, tried - refused) / tried:.0%}" if tried and refused else ""
                steps.add_row(Text(printable(step)), f"{tried or ''}", f"{refused or ''}", kept)
            bar = ProgressBar(total=max(1, self._requested), completed=self._accepted, width=40)
            return Group(self._state(), bar, steps, self._spent())


def counted(count: int, noun: str) -> str:
    """Format a count with its noun."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def of_requested(accepted: int, requested: int | None) -> str:
    """Format accepted samples, with the requested number if it is known."""
    return f"{accepted} samples" if requested is None else f"{accepted} of {requested} samples"


def roughly(seconds: float) -> str:
    """Format an estimated time, rounded to tens of seconds or to minutes."""
    if seconds < 55:
        return duration(max(10, round(seconds, -1)))
    return duration(60 * round(seconds / 60)).removesuffix(" 00 s")


def duration(seconds: float) -> str:
    """Format a time in hours, minutes and seconds."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"
