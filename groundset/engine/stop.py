"""Stopping a run: each attempt ends after its running language model call."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from groundset.store.run_store import RunStore


class RunStoppedError(BaseException):
    """Ends an attempt because the run stops.

    A ``BaseException``, so that neither DSPy nor a program handles it as a failed call and retries.
    """


class Stop:
    """Whether the run is to stop, and the signal that requested it."""

    def __init__(self) -> None:
        """Start without a request."""
        self._event = threading.Event()
        self.signal: int | None = None

    def request(self) -> None:
        """Request that every attempt ends after its running call."""
        self._event.set()

    @property
    def requested(self) -> bool:
        """Return whether the run is to stop."""
        return self._event.is_set()

    def check(self) -> None:
        """Raise if the run is to stop.

        Raises:
            RunStoppedError: a stop was requested.
        """
        if self._event.is_set():
            raise RunStoppedError


def quit_hard(number: int) -> None:
    """End this process at once; only commands may call this."""
    os._exit(128 + number)


@contextmanager
def stop_on_signals(
    stop: Stop, say: Callable[[str], None], again: Callable[[int], object] | None = None
) -> Iterator[None]:
    """Stop the run at the first Ctrl-C or SIGTERM; a second one calls ``again`` with its number.

    Without ``again`` a second signal has its usual effect. Handlers are restored afterwards. Outside the main thread
    this does nothing.
    """

    def handle(number: int, frame: FrameType | None) -> None:
        del frame
        if stop.signal is not None:
            if again is not None:
                again(number)
            signal.signal(number, before[number])
            signal.raise_signal(number)
            return
        stop.signal = number
        stop.request()
        say("Stopping after the running call; once more to quit at once.")

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before: dict[int, Any] = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


_NOTE_EVERY_SECONDS = 1.0


class Clock:
    """Stores how long this process has worked on the run, loading and reading included."""

    def __init__(self, store: RunStore, started: float) -> None:
        """Begin a session; ``started`` is a value of ``time.monotonic``."""
        self._store = store
        _, self._earlier = store.spent()
        self._session = store.begin_session()
        self._started = self._noted = started

    def elapsed(self) -> float:
        """Return the seconds of all sessions until now."""
        return self._earlier + time.monotonic() - self._started

    def note(self) -> None:
        """Store the time until now."""
        self._noted = time.monotonic()
        self._store.spend(self._session, self._noted - self._started)

    def tick(self) -> None:
        """Store the time until now, at most once a second."""
        if time.monotonic() - self._noted >= _NOTE_EVERY_SECONDS:
            self.note()
