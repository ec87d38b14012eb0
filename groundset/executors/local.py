"""Processes of this machine, connected by pipes."""

import os
import pickle
import signal
import subprocess
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from groundset.bounded import ONE_THREAD, child_command, end_with_parent, own_pipes
from groundset.executors.base import (
    Executor,
    ExecutorKind,
    Item,
    LoadedOperator,
    Operator,
    Result,
    WorkerAnswer,
    WorkerDiedError,
    map_in_process,
    map_on_workers,
)
from groundset.processors import usable_processors, use_one_processor


class LocalExecutor:
    """Runs operators in processes of this machine, or in this process if the work is small."""

    is_local = True

    def map(
        self,
        operator: Operator[Item, Result],
        items: Iterable[Item],
        *,
        parts: float,
        most: int | None = None,
        check: Callable[[], None] | None = None,
    ) -> Generator[Result]:
        """Yield the result of each item; see :class:`groundset.executors.base.Executor`."""
        count = int(min(usable_processors(), parts, most or parts))
        if count <= 1:
            return map_in_process(operator, items)
        return map_on_workers(partial(_Process, pickle.dumps(operator)), operator, items, count, check)


LOCAL = LocalExecutor()


class _Process:
    """A child process that applies an operator.

    The standard library's pools and joblib's need semaphores and a second process that removes them, which warns when
    the first is killed; the pools also run the caller's script again. A pipe needs neither, and its end tells the child
    that the parent has died.
    """

    def __init__(self, operator: bytes) -> None:
        self._operator: bytes | None = operator
        self._process = subprocess.Popen(
            child_command(f"{__name__}:serve"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | ONE_THREAD,
            process_group=0,  # Ctrl-C in a terminal does not reach it
        )

    def ready(self) -> None:
        pass  # it has been started

    def answer(self, item: Any) -> WorkerAnswer:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            if self._operator is not None:
                stdin.write(self._operator)
                self._operator = None
            pickle.dump(item, stdin)
            stdin.flush()
            answer: WorkerAnswer = pickle.load(stdout)  # noqa: S301 - from our own process
        except (OSError, EOFError, ValueError, pickle.UnpicklingError):
            self._process.kill()
            status = self._process.wait()
            how = signal.Signals(-status).name if status < 0 else f"status {status}"
            raise WorkerDiedError(how) from None
        return answer

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(BrokenPipeError):  # the process may not have read the whole item
                    stream.close()


def serve() -> None:
    """Apply the operator from standard input to the items that follow, until the parent closes it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests, answers = own_pipes()
    end_with_parent(requests)
    use_one_processor()
    with suppress(EOFError, BrokenPipeError, pickle.UnpicklingError):  # the parent has ended
        loaded = LoadedOperator(pickle.load(requests))  # noqa: S301 - from the parent
        while True:
            pickle.dump(loaded.answer(pickle.load(requests)), answers)  # noqa: S301 - from the parent
            answers.flush()
    os._exit(1)


@contextmanager
def _open(address: str | None) -> Iterator[Executor]:
    assert address is None
    yield LOCAL


EXECUTOR = ExecutorKind("local", _open)
