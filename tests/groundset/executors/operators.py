"""Operators for tests, in a module that child processes can import."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from programs.errors import InputError

DIES_ONCE, DIES, FAILS, REFUSES = 5, 66, 77, 88


@dataclass(frozen=True)
class Square:
    """Squares numbers; some of them end its process or raise errors."""

    folder: Path

    @contextmanager
    def load(self) -> Iterator[Callable[[int], tuple[int, int]]]:
        with (self.folder / "loaded").open("a") as stream:
            stream.write(f"{os.getpid()}\n")
        yield self._square

    def name(self, item: int) -> str:
        return f"number {item}"

    def _square(self, item: int) -> tuple[int, int]:
        died = self.folder / "died"
        if item == DIES or (item == DIES_ONCE and not died.exists()):
            died.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if item == FAILS:
            raise KeyError("no such number")
        if item == REFUSES:
            raise InputError("the number is refused")
        if item % 2:
            time.sleep(0.01)
        return item * item, os.getpid()


@dataclass(frozen=True)
class Sleep:
    """Sleeps beside a child process of its own that lives as long as its standard input."""

    folder: Path

    @contextmanager
    def load(self) -> Iterator[Callable[[int], None]]:
        child = subprocess.Popen(
            [sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
        )
        (self.folder / f"{os.getpid()}-{child.pid}").touch()
        yield self._sleep

    def name(self, item: int) -> str:
        return str(item)

    def _sleep(self, item: int) -> Any:
        time.sleep(600)
