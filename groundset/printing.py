"""Printing: texts from files and models cannot control the terminal or forge lines; and the
progress of a run.

Progress is live on a terminal and plain lines anywhere else, all on standard error. A thread draws,
so that a wait is shown while nothing happens.
"""

import json
import re
import shutil
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from textwrap import shorten
from typing import TYPE_CHECKING, TypeVar

import typer
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.text import Text

from groundset.privacy import without_secrets

if TYPE_CHECKING:
    from groundset.programs.types import Reject

_Value = TypeVar("_Value")
# Control, bidirectional, zero-width and tag characters, and surrogates. The two joiners and the
# soft hyphen stay: words of several scripts, and emoji, need them.
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
_UNSEEN_IN_LINES = re.compile(f"(?![\n\t]){_UNSEEN.pattern}")
PATIENCE_SECONDS = 0.8  # a phase that takes longer is announced
LINE_EVERY_SECONDS = 10.0  # after the first minute three times as long
_TICK_SECONDS = 0.25


def printable(text: str, *, lines: bool = False) -> str:
    """Escape invisible characters as in JSON, such as ``\\u001b`` and ``\\n``, so that JSON keeps
    its meaning.

    With ``lines``, line ends and tabs stay.
    """
    if lines:
        return _UNSEEN_IN_LINES.sub(_escaped, text.replace("\r\n", "\n"))
    return _UNSEEN.sub(_escaped, text)


def say(line: str = "", *, err: bool = False) -> None:
    """Print one line on standard output, or with ``err`` on standard error, without passwords of
    addresses.
    """
    typer.echo(printable(without_secrets(line) if err else line), err=err)


def say_lines(text: str, *, err: bool = False) -> None:
    """Print a block of text with its line ends."""
    typer.echo(printable(without_secrets(text) if err else text, lines=True), err=err)


def print_above(console: Console, line: str) -> None:
    """Print one line above the live display of a console."""
    console.print(
        printable(without_secrets(line)), markup=False, emoji=False, highlight=False, soft_wrap=True
    )


def say_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows under headings, aligned; on a terminal that is too narrow, each row as a block."""
    cells = [[printable(cell) for cell in row] for row in (headings, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    # No limit where there is no terminal.
    limit = shutil.get_terminal_size((sys.maxsize, 0)).columns
    if sum(widths) + 2 * (len(widths) - 1) <= limit:
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in cells]
    else:
        first = max(map(len, headings))
        names = [f"{heading.ljust(first)}  " for heading in headings]
        blocks = ["\n".join(map(str.__add__, names, row)) for row in cells[1:]]
        lines = "\n\n".join(blocks).split("\n")
    for line in lines:
        say(line)


def _escaped(found: re.Match[str]) -> str:
    return json.dumps(found[0])[1:-1]


class Progress(AbstractContextManager["Progress"]):
    """Shows what a run is doing: phases before the attempts, then accepted and refused questions
    with an estimate.

    Safe to call from any thread. Use it as a context manager, or call :meth:`close`.
    """

    def __init__(self, *, quiet: bool = False, console: Console | None = None) -> None:
        """Write to ``console``, by default standard error; with ``quiet`` nowhere."""
        self._console = console or Console(stderr=True, quiet=quiet)
        self._guard = threading.RLock()
        self._closed = threading.Event()
        self._phase, self._done, self._total, self._since = "", 0, 0, time.monotonic()
        self._attempts = self._new = 0
        self._rejects: list[Reject] = []
        self._answers_from = ""  # while no attempts are made
        self._usage: Callable[[], Mapping[str, float]] = dict
        self._shown = 0.0  # when a plain line was last printed
        self._live: Live | None = None
        if self._console.quiet:
            return
        if self._console.is_terminal and not self._console.is_jupyter:
            self._live = Live(
                get_renderable=self._render,
                console=self._console,
                refresh_per_second=4,
                transient=True,
            )
            self._live.start()
        else:
            threading.Thread(target=self._print_lines, daemon=True).start()

    def phase(self, doing: str, total: int | None = None) -> None:
        """Begin a phase such as ``"Reading documents"``, of ``total`` items; it ends with the next
        one.
        """
        with self._guard:
            self._phase, self._done, self._total = doing, 0, total or 0
            self._since = time.monotonic()
            self._answers_from, self._shown = "", 0.0

    def advance(self, count: int = 1) -> None:
        """Count finished items of the phase."""
        with self._guard:
            self._done += count

    def start(
        self,
        size: int,
        *,
        accepted: int = 0,
        answers_from: str = "the model",
        usage: Callable[[], Mapping[str, float]] = dict,
    ) -> None:
        """Begin the attempts for ``size`` samples, of which an earlier call has ``accepted`` some.

        ``answers_from`` is the host or model whose first answer is awaited; ``usage`` returns
        ``calls``, ``prompt_tokens`` and ``generated_tokens`` of the run.
        """
        self.phase("", size)
        with self._guard:
            self._done, self._answers_from, self._usage = accepted, answers_from, usage

    def attempt(self, accepted: int, rejects: Sequence["Reject"] = ()) -> None:
        """Count a finished attempt: its accepted questions, and what was refused."""
        with self._guard:
            self._attempts += 1
            self._done += accepted
            self._new += accepted
            self._rejects += rejects

    def note(self, line: str) -> None:
        """Print one line that stays."""
        with self._guard:
            print_above(self._console, line)

    def close(self) -> None:
        """Stop drawing and restore the terminal."""
        self._closed.set()
        if self._live is not None:
            self._live.stop()

    def __exit__(self, *error: object) -> None:
        """Close it."""
        self.close()

    def _state(self) -> str:
        """Return what is going on as one line; empty between phases."""
        waited = time.monotonic() - self._since
        if not self._answers_from:
            done = f": {self._done:,} of {self._total:,}" if self._total else ""
            since = f" since {duration(waited)}" if waited >= 2 else ""
            return f"{self._phase}{done}{since}" if self._phase else ""
        usage = self._usage()
        if not (self._attempts or usage.get("calls")):
            return f"Waiting for the first answer of {self._answers_from} since {duration(waited)}"
        parts = [f"{self._done} of {self._total} samples, {counted(self._attempts, 'attempt')}"]
        if self._rejects:
            refused = Counter(reject.step for reject in self._rejects).most_common()
            counts = ", ".join(f"{step} {count}" for step, count in refused)
            parts.append(f"refused: {counts} (last: {shorten(self._rejects[-1].reason, 100)})")
        if usage:
            tokens = usage.get("prompt_tokens", 0) + usage.get("generated_tokens", 0)
            parts.append(f"{counted(round(usage.get('calls', 0)), 'call')}, {tokens:,.0f} tokens")
        parts.append(duration(waited) + self._left(waited))
        return "; ".join(parts)

    def _left(self, waited: float) -> str:
        """Estimate the time left from the attempts so far, as if one more had been accepted and one
        refused.
        """
        missing = self._total - self._done
        if not self._attempts or missing <= 0:
            return ""
        share = (self._new + 1) / (self._attempts + 2)
        seconds = waited / self._attempts / share * missing
        rounded = max(10, round(seconds, -1)) if seconds < 55 else 60 * round(seconds / 60)
        return f", about {duration(rounded).removesuffix(' 00 s')} left"

    def _render(self) -> RenderableType:
        with self._guard:
            state = printable(without_secrets(self._state()))
            done, total = self._done, self._total
        bar = [ProgressBar(total=total, completed=done, width=40)] if state and total else []
        return Group(Text(state), *bar)

    def _print_lines(self) -> None:
        """Print the state now and then until the progress is closed."""
        while not self._closed.wait(_TICK_SECONDS):
            with self._guard:
                state, now = self._state(), time.monotonic()
                waited = now - self._since
                pause = LINE_EVERY_SECONDS * (1 if waited < 60 else 3)
                if state and waited >= PATIENCE_SECONDS and now - self._shown >= pause:
                    self._shown = now
                    print_above(self._console, state)


def counted(count: int, noun: str) -> str:
    """Format a count with its noun."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def grouped(pairs: Iterable[tuple[str, _Value]]) -> dict[str, list[_Value]]:
    """Return what has the same reason together, in order, so that a reason is said once."""
    groups: dict[str, list[_Value]] = {}
    for reason, value in pairs:
        groups.setdefault(reason, []).append(value)
    return groups


def duration(seconds: float) -> str:
    """Format a time in hours, minutes and seconds."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"
