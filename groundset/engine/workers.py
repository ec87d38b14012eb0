"""Threads that work on attempts."""

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from types import TracebackType
from typing import Self, TypeVar

T = TypeVar("T")
_Job = Callable[[], None]


class Workers:
    """A pool like ``ThreadPoolExecutor``, but of daemon threads.

    Python waits at its exit for the threads of an executor. A call to a server that does not answer would then
    keep an interrupted run from ending.
    """

    def __init__(self, count: int) -> None:
        """Start ``count`` threads."""
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._threads = [threading.Thread(target=self._work, daemon=True, name=f"attempts-{i}") for i in range(count)]
        for thread in self._threads:
            thread.start()

    def submit(self, work: Callable[[], T]) -> "Future[T]":
        """Let the next free thread do some work."""
        future: Future[T] = Future()

        def job() -> None:
            try:
                result = work()
            except BaseException as error:  # noqa: BLE001 - handed on to whoever asks the future
                future.set_exception(error)
            else:
                future.set_result(result)

        self._jobs.put(job)
        return future

    def __enter__(self) -> Self:
        """Return the pool."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let the threads end after the work that they have; nobody waits for them."""
        for _ in self._threads:
            self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()
