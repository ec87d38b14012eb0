"""Progress on a terminal and in lines."""

import io
import time
from collections.abc import Iterator

import pytest
from rich.console import Console

from groundset import printing as module
from groundset.printing import Progress, duration
from groundset.programs.types import Reject

REFUSED = Reject(step="judge", reason="not clear: two things are asked", chunk_id="c")


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Print every change at once."""
    for name, value in (
        ("PATIENCE_SECONDS", 0),
        ("LINE_EVERY_SECONDS", 0),
        ("_TICK_SECONDS", 0.01),
    ):
        monkeypatch.setattr(module, name, value)


def lines_until(stream, wanted):
    """Wait for a text, and return the lines so far."""
    deadline = time.monotonic() + 10
    while wanted not in stream.getvalue():
        assert time.monotonic() < deadline, stream.getvalue()
        time.sleep(0.01)
    return stream.getvalue().splitlines()


@pytest.fixture
def stream() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def progress(stream) -> Iterator[Progress]:
    with Progress(console=Console(file=stream, width=300)) as found:
        yield found


def test_phases(progress, stream):
    progress.phase("Reading documents", 3)
    progress.advance(2)
    lines_until(stream, "Reading documents: 2 of 3\n")
    progress.phase("Loading [bold]tiny[/bold]")
    progress.note("Skipped \x1b[31m.")
    lines = lines_until(stream, "Loading [bold]tiny[/bold]\n")
    assert "Skipped \\u001b[31m." in lines


def test_quick_phases_are_not_announced(monkeypatch, stream):
    monkeypatch.setattr(module, "PATIENCE_SECONDS", 60)
    with Progress(console=Console(file=stream)) as progress:
        progress.phase("Checking", 2)
        time.sleep(0.1)
    assert stream.getvalue() == ""


def test_attempts(progress, stream):
    usage = {"calls": 0}
    progress.start(8, accepted=2, answers_from="api.example.org", usage=lambda: usage)
    lines_until(stream, "Waiting for the first answer of api.example.org since 0 s\n")
    usage |= {"calls": 1234, "prompt_tokens": 50_000, "generated_tokens": 900}
    lines_until(stream, "2 of 8 samples, 0 attempts; 1,234 calls, 50,900 tokens; 0 s\n")
    progress.attempt(0, [REFUSED])
    progress.attempt(1)
    lines_until(stream, "refused: judge 1 (last: not clear: two things are asked); 1,234 calls")
    lines_until(stream, "3 of 8 samples, 2 attempts;")
    lines_until(stream, "about 10 s left\n")


def test_time_left_is_estimated_from_the_first_attempt_on(stream):
    progress = Progress(quiet=True)
    progress.start(9)
    assert progress._left(30) == ""
    progress.attempt(0)
    assert progress._left(20) == ", about 9 min left", (
        "one of three attempts is accepted, at 20 s each"
    )
    progress.attempt(1)
    assert progress._left(40) == ", about 5 min left"
    progress.attempt(8)
    assert progress._left(60) == ""


def test_terminal(stream):
    with Progress(console=Console(file=stream, force_terminal=True, width=100)) as progress:
        progress.start(8)
        progress.attempt(1, [REFUSED])
        progress.note("[red]as it is[/red]")
        lines_until(stream, "1 of 8 samples")
    assert "[red]as it is[/red]" in stream.getvalue()


def test_quiet_prints_nothing(stream):
    with Progress(console=Console(file=stream, quiet=True)) as progress:
        progress.phase("Reading", 2)
        progress.note("x")
        time.sleep(0.05)
    assert stream.getvalue() == ""


def test_durations():
    assert [duration(seconds) for seconds in (3, 75, 3700)] == ["3 s", "1 min 15 s", "1 h 01 min"]
