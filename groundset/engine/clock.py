"""The time that a run takes, over all processes that work on it."""

import time

from groundset.store.run_store import RunStore

_NOTE_EVERY_SECONDS = 1.0


class Clock:
    """Stores how long this process has worked on the run, loading and reading included."""

    def __init__(self, store: RunStore, started: float) -> None:
        """Begin a session that started at a time of ``time.monotonic``."""
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
        """Store the time until now, if that was not done just before."""
        if time.monotonic() - self._noted >= _NOTE_EVERY_SECONDS:
            self.note()
