"""The start of a command: when it was, and what is said while the libraries that it rests on are loaded."""

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
    """Take this moment for the start of the command."""
    _began.set(time.monotonic())


def began() -> float:
    """Return when the command started, by ``time.monotonic``."""
    return _began.get(time.monotonic())


@contextmanager
def loading(arguments: Sequence[str]) -> Iterator[None]:
    """Say that libraries are loaded in the block, if it takes long enough for somebody to wonder."""
    timer = threading.Timer(_PATIENCE_SECONDS, typer.echo, ["Loading groundset."], {"err": True})
    timer.daemon = True
    if _SILENT.isdisjoint(arguments):
        timer.start()
    try:
        yield
    finally:
        timer.cancel()
