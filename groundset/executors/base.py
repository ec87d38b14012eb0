"""What executors share: operators, workers, and the ordered map over a pool of workers."""

import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, wait
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from queue import SimpleQueue
from threading import Lock, Thread
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

    def ready(self) -> None:
        """Wait until the process runs.

        Raises:
            WorkerDiedError: it could not be started.
        """
        ...

    def answer(self, item: Any) -> WorkerAnswer:
        """Call the operator's function.

        Raises:
            WorkerDiedError: the process ended; the worker cannot be used any more.
        """
        ...

    def close(self) -> None:
        """End the process, also in the middle of an item, whose call in another thread raises ``WorkerDiedError``.

        May be called twice, by two threads.
        """
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


@dataclass
class _Task:
    item: Any
    future: "Future[WorkerAnswer]" = field(default_factory=Future)
    deaths: int = 0


class _Pool:
    """Threads with one worker each.

    A thread takes a task only when its worker runs. On a cluster that has lost a node, a new worker may wait for a free
    processor until all work is done; the other threads do it meanwhile.
    """

    def __init__(self, start: Callable[[], Worker], operator: Operator[Any, Any], count: int) -> None:
        self._start = start
        self._operator = operator
        self._count = count
        self._tasks: SimpleQueue[_Task | None] = SimpleQueue()
        self._lock = Lock()
        self._workers: list[Worker] = []
        self._closed = False
        self._threads: list[Thread] = []

    def submit(self, item: Any) -> "Future[WorkerAnswer]":
        task = _Task(item)
        self._tasks.put(task)
        if len(self._threads) < self._count:
            self._threads.append(Thread(target=self._work, daemon=True, name="worker"))
            self._threads[-1].start()
        return task.future

    def close(self) -> None:
        """End all workers, also in the middle of an item."""
        with self._lock:
            self._closed = True
            workers = list(self._workers)
        for _ in self._threads:
            self._tasks.put(None)
        for worker in workers:
            worker.close()
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        """Do tasks with a worker, or with a new one if it dies, until the pool is closed."""
        while not self._closed:
            worker = task = None
            try:
                worker = self._start()
                if self._is_registered(worker):
                    worker.ready()
                    while (task := self._next()) is not None:
                        task.future.set_result(worker.answer(task.item))
            except Exception as error:  # noqa: BLE001 - raised in the waiting thread
                if (task := task or self._next()) is not None:
                    self._failed(task, error)
            finally:
                if worker is not None:
                    worker.close()

    def _is_registered(self, worker: Worker) -> bool:
        """Register a worker to be closed with the pool; return False if the pool is closed already."""
        with self._lock:
            self._workers.append(worker)
            return not self._closed

    def _next(self) -> _Task | None:
        """Wait for a task; return None if the pool is closed."""
        task = self._tasks.get()
        return None if self._closed else task

    def _failed(self, task: _Task, error: Exception) -> None:
        """Give a task whose worker died to the next one once, else fail it."""
        if isinstance(error, WorkerDiedError):
            task.deaths += 1
            if task.deaths < _TRIES:
                self._tasks.put(task)
                return
            error = ExecutorError(
                f"{self._operator.name(task.item)}: its process died twice ({error}); remove it from the input, or "
                "give it more memory"
            )
        task.future.set_exception(error)
