"""The start time of a command, and the notice while libraries are loaded."""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

import typer

_PATIENCE_SECONDS = 0.8
_SILENT = {"-q", "--quiet", "-h", "--help"}
_began: ContextVar[float] = ContextVar("began")


def begin() -> None:
    """Record the start time of the command."""
    _began.set(time.monotonic())


def began() -> float:
    """Return the start time of the command, by ``time.monotonic``."""
    return _began.get(time.monotonic())


@contextmanager
def loading(arguments: Sequence[str]) -> Iterator[None]:
    """Print a notice if the block, which loads libraries, takes long."""
    timer = threading.Timer(_PATIENCE_SECONDS, typer.echo, ["Loading groundset."], {"err": True})
    timer.daemon = True
    if _SILENT.isdisjoint(arguments):
        timer.start()
    try:
        yield
    finally:
        timer.cancel()
