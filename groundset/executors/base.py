"""What executors share: operators, workers, and the ordered map over a pool of workers."""

import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, ExitStack
from threading import Lock, local
from typing import Any, NamedTuple, Protocol, TypeVar

from programs.errors import ExecutorError, GroundsetError

Item = TypeVar("Item")
Result = TypeVar("Result")
_Item = TypeVar("_Item", contravariant=True)
_Result = TypeVar("_Result", covariant=True)
_CHECK_SECONDS = 0.5  # between two calls of ``check``
_TRIES = 2  # at an item, each in a new process
_AHEAD = 4  # items for each worker that are begun before the result of the first is taken


class Operator(Protocol[_Item, _Result]):
    """A function on items as a picklable record, which is sent to each process once."""

    def load(self) -> AbstractContextManager[Callable[[_Item], _Result]]:
        """Load what the function needs, such as weights, once in each process; yield the function."""
        ...

    def name(self, item: _Item) -> str:
        """Return the name of an item for messages."""
        ...


class Executor(Protocol):
    """Runs operators."""

    @property
    def is_local(self) -> bool:
        """Return whether all work is done on this machine's processors, which the caller may use itself."""
        ...

    def map(
        self,
        operator: Operator[Item, Result],
        items: Iterable[Item],
        *,
        parts: float,
        most: int | None = None,
        check: Callable[[], None] | None = None,
    ) -> Generator[Result]:
        """Yield the result of each item, in their order; only a few items are begun ahead.

        Close the generator to end the work early.

        Args:
            operator: the function.
            items: its arguments.
            parts: how many processes the work is worth; with one, nothing is gained by a second.
            most: the maximum number of processes on this machine.
            check: called again and again while a result is awaited; may raise to end the work.

        Raises:
            ExecutorError: a process died twice at an item.
        """
        ...


class ExecutorKind(NamedTuple):
    """One row of the table of executors.

    Attributes:
        name: its name in ``--engine``.
        open: starts it, at an address if one is given.
        takes_address: whether it can have an address.
    """

    name: str
    open: Callable[[str | None], AbstractContextManager[Executor]]
    takes_address: bool = False


class WorkerDiedError(Exception):
    """A worker ended in the middle of an item; the message says how."""


class WorkerAnswer(NamedTuple):
    """The result of an item, or the error that the operator raised."""

    result: Any
    error: Exception | None = None


class LoadedOperator:
    """An operator in its process, loaded at the first item."""

    def __init__(self, operator: Operator[Any, Any]) -> None:
        """Hold an operator."""
        self._operator = operator
        self._function: Callable[[Any], Any] | None = None
        self._stack = ExitStack()

    def answer(self, item: Any) -> WorkerAnswer:
        """Call the function; errors are returned, to be raised again by the caller's process."""
        try:
            if self._function is None:
                self._function = self._stack.enter_context(self._operator.load())
            return WorkerAnswer(self._function(item))
        except GroundsetError as error:
            return WorkerAnswer(None, error)
        except Exception as error:  # noqa: BLE001 - raised in the process of the caller, which may lack its class
            found = RuntimeError(f"{type(error).__name__}: {error}")
            found.add_note(traceback.format_exc())
            return WorkerAnswer(None, found)


class Worker(Protocol):
    """One process that applies an operator."""

    def answer(self, item: Any) -> WorkerAnswer:
        """Call the operator's function.

        Raises:
            WorkerDiedError: the process ended; the worker cannot be used any more.
        """
        ...

    def close(self) -> None:
        """End the process, also in the middle of an item, whose call in another thread raises ``WorkerDiedError``."""
        ...


def map_in_process(operator: Operator[Item, Result], items: Iterable[Item]) -> Generator[Result]:
    """Yield the result of each item, computed in this process."""
    with operator.load() as function:
        for item in items:
            yield function(item)


def map_on_workers(
    start: Callable[[], Worker],
    operator: Operator[Item, Result],
    items: Iterable[Item],
    count: int,
    check: Callable[[], None] | None,
) -> Generator[Result]:
    """Yield the result of each item, computed by workers, each driven by a thread.

    An item whose worker dies is given to a new worker once.

    Raises:
        ExecutorError: a process died twice at an item.
    """
    pool = _Pool(start, operator, count)
    waiting: deque[Future[WorkerAnswer]] = deque()
    try:
        for item in items:
            waiting.append(pool.submit(item))
            if len(waiting) > _AHEAD * count:
                yield _result(waiting.popleft(), check)
        while waiting:
            yield _result(waiting.popleft(), check)
    finally:
        pool.close()


def _result(future: "Future[WorkerAnswer]", check: Callable[[], None] | None) -> Any:
    while not wait([future], _CHECK_SECONDS).done:
        if check is not None:
            check()
    answer = future.result()
    if answer.error is not None:
        raise answer.error
    return answer.result


class _Pool:
    """Threads with one worker each."""

    def __init__(self, start: Callable[[], Worker], operator: Operator[Any, Any], count: int) -> None:
        self._start = start
        self._operator = operator
        self._thread_local = local()
        self._lock = Lock()
        self._workers: list[Worker] = []
        self._closed = False
        self._threads = ThreadPoolExecutor(count, "worker")

    def submit(self, item: Any) -> "Future[WorkerAnswer]":
        return self._threads.submit(self._answer, item)

    def close(self) -> None:
        """End all workers, also in the middle of an item."""
        with self._lock:
            self._closed = True
            workers = list(self._workers)
        self._threads.shutdown(wait=False, cancel_futures=True)
        for worker in workers:
            worker.close()
        self._threads.shutdown()

    def _answer(self, item: Any) -> WorkerAnswer:
        for _ in range(_TRIES):
            try:
                return self._worker().answer(item)
            except WorkerDiedError as error:
                self._discard()
                died = error
        name = self._operator.name(item)
        raise ExecutorError(
            f"{name}: its process died twice ({died}); remove it from the input, or give it more memory"
        )

    def _worker(self) -> Worker:
        """Return the worker of this thread, started if there is none."""
        worker: Worker | None = getattr(self._thread_local, "worker", None)
        if worker is None:
            worker = self._thread_local.worker = self._start()
            with self._lock:
                self._workers.append(worker)
        self._refuse_closed()
        return worker

    def _discard(self) -> None:
        """Close the worker of this thread, which has died."""
        worker, self._thread_local.worker = self._thread_local.worker, None
        with self._lock:
            self._workers.remove(worker)
        worker.close()
        self._refuse_closed()

    def _refuse_closed(self) -> None:
        """End the thread's work if the pool was closed, which is why its worker died."""
        if self._closed:
            if (worker := self._thread_local.worker) is not None:
                worker.close()
            raise CancelledError
