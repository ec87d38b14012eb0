"""Progress lines and bars."""

import io
import time

import pytest
from rich.console import Console

from groundset import progress as progress_module
from groundset.cost import Price
from groundset.engine.planner import Settlement
from groundset.progress import Progress, duration, roughly
from groundset.store.tables import Verdict
from programs.types import Reject, Retrieval, Sample, StepRecord

USAGE = {"calls": 1234, "prompt_tokens": 50_000, "evaluated_tokens": 20_000, "completion_tokens": 900}
SAMPLE = Sample(
    id="s",
    question="What?",
    answer="That.",
    evolution="simple",
    language="en",
    contexts=(),
    retrieval_gt=(),
    retrieval=Retrieval(rank=1, retrieved_id="d-0", retrieved_content="", score=1),
    probability=0.75,
    trail=(),
)
REFUSED = Settlement(Verdict(None, False), None, None, (Reject(step="judge", reason="x", chunk_id="c"),))


def started(*, terminal: bool, quiet: bool = False) -> tuple[Progress, io.StringIO]:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=terminal, quiet=quiet, width=100)
    progress = Progress(console=console)
    counts = {"judge": {"tried": 5, "refused": 1}}
    progress.start(requested=8, accepted=2, attempts=4, counts=counts, usage=lambda: USAGE, elapsed=lambda: 75.0)
    return progress, stream


def test_lines_are_printed_periodically_without_a_terminal(monkeypatch):
    progress, stream = started(terminal=False)
    progress.tick()
    assert stream.getvalue() == ""
    monkeypatch.setattr(progress_module, "LINE_EVERY_SECONDS", 0)
    progress.decided(REFUSED)
    progress.tick()
    progress.stop()
    line = stream.getvalue()
    assert line.startswith(
        "2 of 8 samples, 5 attempts; 1,234 calls, 50,000 prompt tokens (20,000 uncached), 900 generated"
    )
    assert "left" not in line, "no sample was accepted by this process"


def test_terminal_shows_the_yield_of_each_step():
    progress, stream = started(terminal=True)
    progress.step(StepRecord(step="judge"))
    progress.step(StepRecord(step="[bold]odd[/bold]"))
    progress.decided(REFUSED)
    with progress:
        progress.note("[red]as it is[/red]")
    shown = stream.getvalue()
    for piece in ("2 of 8 samples", "judge", "67%", "[bold]odd[/bold]", "1,234 calls", "[red]as it is[/red]"):
        assert piece in shown


ACCEPTED = Settlement(Verdict("simple", False), SAMPLE, None, ())


def test_time_left_follows_recent_pace(monkeypatch):
    now = 1000.0
    monkeypatch.setattr(progress_module.time, "monotonic", lambda: now)
    monkeypatch.setattr(progress_module, "LINE_EVERY_SECONDS", 0)
    progress, stream = started(terminal=False)

    def line():
        stream.seek(0)
        stream.truncate()
        progress.tick()
        return stream.getvalue().strip()

    for _ in range(2):
        now += 10
        progress.decided(ACCEPTED)
    assert line().endswith("1 min 15 s elapsed"), "two samples are too few for an estimate"
    now += 10
    progress.decided(ACCEPTED)
    assert line().endswith("elapsed, about 30 s left"), "3 of 8 are missing, at 10 s each"
    now += 60
    assert line().endswith("elapsed, about 2 min left"), "the next one is late"


@pytest.mark.parametrize(
    ("seconds", "text"), [(3, "10 s"), (44, "40 s"), (56, "1 min"), (100, "2 min"), (3700, "1 h 02 min")]
)
def test_roughly_rounds_durations(seconds, text):
    assert roughly(seconds) == text


def test_waiting_is_printed_only_when_slow(monkeypatch):
    stream = io.StringIO()
    progress = Progress(console=Console(file=stream))
    with progress.waiting("Checking"):
        pass
    assert stream.getvalue() == ""
    monkeypatch.setattr(progress_module, "PATIENCE_SECONDS", 0.01)
    with progress.waiting("Checking"):
        deadline = time.monotonic() + 10
        while not stream.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
    assert stream.getvalue() == "Checking.\n"


def test_quiet_prints_nothing(monkeypatch):
    monkeypatch.setattr(progress_module, "LINE_EVERY_SECONDS", 0)
    progress, stream = started(terminal=True, quiet=True)
    progress.note("x")
    progress.tick()
    progress.stop()
    assert stream.getvalue() == ""


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0 s"), (59, "59 s"), (61, "1 min 01 s"), (7260, "2 h 01 min")])
def test_duration(seconds, text):
    assert duration(seconds) == text


@pytest.mark.parametrize("terminal", [True, False])
def test_phase_is_printed_at_once_and_counted(monkeypatch, terminal):
    monkeypatch.setattr(progress_module, "LINE_EVERY_SECONDS", 0)
    stream = io.StringIO()
    progress = Progress(console=Console(file=stream, force_terminal=terminal, width=100))
    with progress.phase("Reading chunks", 1200) as advance:
        advance(600)
        advance(600)
    assert "Reading chunks" in stream.getvalue()
    if not terminal:
        assert stream.getvalue() == "Reading chunks: 1,200.\nReading chunks: 600 of 1,200\n"


@pytest.mark.parametrize("terminal", [True, False])
def test_phase_in_the_background_is_shown_beside_the_attempts(monkeypatch, terminal):
    monkeypatch.setattr(progress_module, "LINE_EVERY_SECONDS", 0)
    stream = io.StringIO()
    progress = Progress(console=Console(file=stream, force_terminal=terminal, width=200))
    with progress.background("Preparing chunks", 1200) as advance:
        advance(100)
        assert ("Preparing chunks: 100 of 1,200" in stream.getvalue()) != terminal
        progress.start(requested=8, accepted=0, attempts=0, counts={}, usage=dict, elapsed=lambda: 75.0)
        advance(500)
        progress.tick()
        assert "0 of 8 samples, 0 attempts, preparing chunks: 600 of 1,200" in progress._state()
    assert progress._state() == "0 of 8 samples, 0 attempts"
    progress.stop()
    if not terminal:
        assert "Preparing chunks: 600" not in stream.getvalue()
        assert "0 attempts, preparing chunks: 600 of 1,200; 0 calls" in stream.getvalue()


def test_cost_is_shown_with_what_it_will_be(monkeypatch):
    stream = io.StringIO()
    progress = Progress(console=Console(file=stream, width=300))
    monkeypatch.setattr(progress_module, "LINE_EVERY_SECONDS", 0)
    for accepted in (0, 2):
        progress.start(
            requested=8, accepted=accepted, attempts=4, counts={}, usage=lambda: USAGE, elapsed=lambda: 75.0,
            price=Price(10, 100),
        )  # fmt: skip
        progress.tick()
    first, second = stream.getvalue().splitlines()
    assert first.endswith("elapsed, cost 0.59")
    assert second.endswith("elapsed, cost 0.59 (0.29 a sample, about 2.36 in all)")
