"""The budget of a run: how many calls and tokens all its processes may use, and the journal that keeps to it."""

import threading
from collections.abc import Mapping
from typing import Any, Protocol

from groundset.engine.stop import Stop
from groundset.store.calls import CallTable, CallTotals


class Budget:
    """Stops a run before the first call beyond its budget.

    Calls count when they are made. Tokens count when they are answered, so calls in flight may exceed the budget.
    """

    def __init__(self, stop: Stop, calls: int | None, tokens: int | None) -> None:
        """Start without any use; None is no limit."""
        self._stop = stop
        self._limits = {"calls": calls, "tokens": tokens}
        self._used = {"calls": 0, "tokens": 0}
        self._guard = threading.Lock()
        self.ended_by: str | None = None

    def add_earlier(self, totals: CallTotals) -> None:
        """Count the calls of earlier processes."""
        self._used["calls"] += totals.calls
        self._used["tokens"] += totals.prompt_tokens + totals.completion_tokens

    def claim(self) -> None:
        """Count a call that is about to be made, or stop the run if the budget does not allow it.

        Raises:
            RunStoppedError: the budget is used up, or the run is stopping.
        """
        with self._guard:
            for name, limit in self._limits.items():
                if limit is not None and self._used[name] >= limit and not self._stop.requested:
                    self.ended_by = f"--budget-{name} {limit}"
                    self._stop.request()
            self._stop.check()
            self._used["calls"] += 1

    def count(self, record: Mapping[str, int]) -> None:
        """Count the tokens of an answered call."""
        with self._guard:
            self._used["tokens"] += record["prompt_tokens"] + record["completion_tokens"]


class Servers(Protocol):
    """The counts of servers of a run store."""

    def count(self, server: str, *, calls: int, failures: int, seconds: float) -> None:
        """Add to the counts of a server."""
        ...


class StoppableJournal:
    """A journal that ends attempts between calls, and always stores a finished call.

    The language model is opened before the run is created, so the store is attached later.
    """

    def __init__(self, budget: Budget) -> None:
        """Build a journal without a store."""
        self._budget = budget
        self._calls: CallTable | None = None
        self._servers: Servers | None = None
        self._stored: set[str] = set()  # most calls are new, and need no query
        self._is_closed = False

    def attach(self, calls: CallTable, servers: Servers) -> None:
        """Store calls in this journal, and the counts of servers, from now on."""
        self._calls, self._servers, self._stored = calls, servers, calls.digests()

    def close(self) -> None:
        """Store calls as late ones from now on; called before the store is closed."""
        self._is_closed = True

    def get(self, digest: str) -> dict[str, Any] | None:
        """Return the record of a finished call, None if the call has to be made."""
        record = self._calls.get(digest) if self._calls and digest in self._stored else None
        if record is None:
            self._budget.claim()
        return record

    def put(self, digest: str, record: dict[str, Any]) -> None:
        """Store a finished call."""
        if self._calls:
            put = self._calls.put_late if self._is_closed else self._calls.put
            put(digest, record)
            self._stored.add(digest)
        self._budget.count(record)

    def count(self, server: str, *, calls: int = 0, failures: int = 0, seconds: float = 0.0) -> None:
        """Add to the counts of a server."""
        if self._servers and not self._is_closed:
            self._servers.count(server, calls=calls, failures=failures, seconds=seconds)
