"""Scripted runs as processes that tests kill; they are forked from one that has imported everything."""

import multiprocessing
import os
import sys
from itertools import count
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import scripted_run

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["scripted_run", "groundset.engine.assembly", "programs.critics.registry", "spacy"])
_numbers = count()


class StartedRun:
    """A process that makes a scripted run.

    Attributes:
        process: the process; ``exitcode`` is negative after a signal.
    """

    def __init__(self, docs: Path, out: Path, log: Path, *, seconds: float = 0.0, workers: int = 1, size: int = 8):
        self._output = log.with_name(f"output-{next(_numbers)}.txt")
        arguments = [str(each) for each in (docs, out, log, seconds, workers, size)]
        self.process: ForkServerProcess = _FORKS.Process(target=_run, args=(str(self._output), arguments))
        self.process.start()

    def is_running(self) -> bool:
        return self.process.is_alive()

    def send_signal(self, number: int) -> None:
        assert self.process.pid is not None
        os.kill(self.process.pid, number)

    def kill(self) -> None:
        self.process.kill()
        self.process.join()

    def ended(self, seconds: float = 60) -> str:
        """Wait until it ends, and return what it printed."""
        self.process.join(seconds)
        assert self.process.exitcode is not None, f"it still runs after {seconds} seconds"
        return self._output.read_text()


def _run(output: str, arguments: list[str]) -> None:
    file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream in (1, 2):
        os.dup2(file, stream)
    sys.argv[1:] = arguments
    scripted_run.main()
