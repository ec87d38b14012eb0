"""Stopping a run: each attempt ends after its running language model call."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Protocol

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


class Calls(Protocol):
    """The calls of a run store."""

    def get(self, digest: str) -> dict[str, Any] | None:
        """Return the record of a finished call, or None."""
        ...

    def put(self, digest: str, record: dict[str, Any]) -> None:
        """Store a finished call."""
        ...

    def put_late(self, digest: str, record: dict[str, Any]) -> None:
        """Store a call that finished after the run was closed."""
        ...


class Servers(Protocol):
    """The counts of servers of a run store."""

    def count(self, server: str, *, calls: int, failures: int, seconds: float) -> None:
        """Add to the counts of a server."""
        ...


class StoppableJournal:
    """A journal that ends attempts between calls, and always stores a finished call.

    The language model is opened before the run is created, so the store is attached later.
    """

    def __init__(self, stop: Stop) -> None:
        """Build a journal without a store."""
        self._stop = stop
        self._calls: Calls | None = None
        self._servers: Servers | None = None
        self._is_closed = False

    def attach(self, calls: Calls, servers: Servers) -> None:
        """Store calls in this journal, and the counts of servers, from now on."""
        self._calls, self._servers = calls, servers

    def close(self) -> None:
        """Store calls as late ones from now on; called before the store is closed."""
        self._is_closed = True

    def get(self, digest: str) -> dict[str, Any] | None:
        """Return the record of a finished call, None if the call has to be made."""
        record = self._calls.get(digest) if self._calls else None
        if record is None:
            self._stop.check()
        return record

    def put(self, digest: str, record: dict[str, Any]) -> None:
        """Store a finished call."""
        if self._calls:
            put = self._calls.put_late if self._is_closed else self._calls.put
            put(digest, record)

    def count(self, server: str, *, calls: int = 0, failures: int = 0, seconds: float = 0.0) -> None:
        """Add to the counts of a server."""
        if self._servers and not self._is_closed:
            self._servers.count(server, calls=calls, failures=failures, seconds=seconds)


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
