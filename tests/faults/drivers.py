"""Drivers: `groundset` as processes that tests start, watch and kill, and the server of their language model."""

import json
import os
import re
import secrets
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from free_writer import Writer
from model_server import ModelServer, serving

ROOT = Path(__file__).parents[2]
SHARED_MEMORY = Path("/dev/shm")
PHASES = ("Reading documents", "Preparing chunks")
MARK = "GROUNDSET_FAULTS_MARK"
WAIT_SECONDS = 120


def wait_until(condition: Callable[[], Any], seconds: float = WAIT_SECONDS) -> bool:
    """Wait until a condition holds; return whether it does."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.002)
    return True


class Driver:
    """One process of the command line.

    Attributes:
        process: its id.
        output: the file of what it prints.
        status: its status if it has ended, as of the last look.
    """

    def __init__(self, process: int, output: Path, wait: Callable[[bool], int | None]) -> None:
        self.process, self.output, self._wait = process, output, wait
        self.status: int | None = None

    def has_ended(self) -> bool:
        if self.status is None:
            self.status = self._wait(False)
        return self.status is not None

    def ended(self) -> int:
        """Wait for its end, and return its status."""
        if self.status is None:
            self.status = self._wait(True)
        assert self.status is not None
        return self.status

    def kill(self) -> None:
        if not self.has_ended():
            os.kill(self.process, signal.SIGKILL)

    def text(self) -> str:
        return self.output.read_text(errors="replace") if self.output.exists() else ""

    def errors(self) -> list[str]:
        return [line for line in self.text().splitlines() if line.startswith("groundset: error: ")]

    def phase(self) -> str:
        """Return the last phase that was printed."""
        text = self.text()
        if "Kept " in text:
            return "ending"
        if "Expected for " in text:
            return "attempts"
        return next((phase for phase in reversed(PHASES) if f"{phase}: " in text), "starting")


class CommandLine:
    """Starts drivers; all their processes carry one mark in their environment.

    Attributes:
        temporary: the folder for temporary files of all drivers.
    """

    def __init__(self, folder: Path) -> None:
        self.temporary, self._outputs = folder / "temporary", folder / "outputs"
        self.temporary.mkdir()
        self._outputs.mkdir()
        self._mark = secrets.token_hex(8)
        self.environment = {MARK: self._mark, "TMPDIR": str(self.temporary), "PYTHONPATH": os.pathsep.join(sys.path)}
        self._preloaded: subprocess.Popen[str] | None = None
        self._count = 0

    def start(self, *arguments: object, preloaded: bool = True) -> Driver:
        """Start a command, from the process with loaded libraries or as anybody would."""
        self._count += 1
        output = self._outputs / f"{self._count}"
        given = [str(argument) for argument in arguments]
        if preloaded:
            request = {"arguments": given, "output": str(output), "environment": self.environment}
            process = int(self._ask(request))
            return Driver(process, output, lambda blocks: self._wait(process, blocks))
        with output.open("wb") as stream:
            popen = subprocess.Popen(
                [sys.executable, "-m", "groundset", *given], stdout=stream, stderr=stream, stdin=subprocess.DEVNULL,
                env=os.environ | self.environment, cwd=ROOT, start_new_session=True,
            )  # fmt: skip
        return Driver(popen.pid, output, lambda blocks: popen.wait(WAIT_SECONDS) if blocks else popen.poll())

    def strays(self) -> list[int]:
        """Return the processes that drivers have started and that still run."""
        mark = f"{MARK}={self._mark}".encode()
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (folder / "environ").read_bytes().split(b"\0"):
                    found.append(int(folder.name))
            except OSError:
                continue
        return found

    def close(self) -> None:
        if self._preloaded is not None:
            self._preloaded.communicate()

    def _wait(self, process: int, blocks: bool) -> int | None:
        found, status = json.loads(self._ask({"wait": process, "options": 0 if blocks else os.WNOHANG}))
        return status if found else None

    def _ask(self, request: dict[str, Any]) -> str:
        if self._preloaded is None:
            command = [sys.executable, str(Path(__file__).with_name("preloaded.py"))]
            self._preloaded = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
                env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
            )  # fmt: skip
            assert self._preloaded.stdout is not None
            assert self._preloaded.stdout.readline() == "ready\n"
        assert self._preloaded.stdin is not None
        assert self._preloaded.stdout is not None
        self._preloaded.stdin.write(json.dumps(request) + "\n")
        self._preloaded.stdin.flush()
        return self._preloaded.stdout.readline()


class PureWriter(Writer):
    """Answers a prompt in the same way whatever was asked before, so that several servers can be one model."""

    def answer(self, system: str, shown: str) -> str:
        if not system.startswith("Answer the question"):
            return super().answer(system, shown)
        passage, question = shown.rsplit("\nQuestion: ", 1)
        named = re.findall(r"the (\w+) of (\w+)", question)[:1]
        facts = re.findall(r"The (\w+) of (\w+) was built in (\d+)\.", passage)
        return next((year for *fact, year in facts if [tuple(fact)] == named), "not stated")


@dataclass
class Calls:
    """The calls that servers received, and how long an answer takes.

    Attributes:
        seconds: how long an answer takes.
        received: the digest of each request, in order.
        open: the requests that are being answered.
    """

    seconds: float = 0.15
    received: list[str] = field(default_factory=list)
    open: Counter[str] = field(default_factory=Counter)
    _lock: Lock = field(default_factory=Lock)

    def answer(self, handler: Any, answer: bytes) -> None:
        digest = handler.headers["X-Request-Id"].rpartition("-")[0]
        with self._lock:
            self.received.append(digest)
            self.open[digest] += 1
        time.sleep(self.seconds)
        with self._lock:
            self.open[digest] -= 1
        send(handler, answer)

    def repeated(self) -> int:
        """Return how many requests were sent again."""
        return len(self.received) - len(set(self.received))


def send(handler: Any, answer: bytes) -> None:
    """Send an answer to a client that may have been killed."""
    try:
        handler._send(200, json.loads(answer))
    except ConnectionError:
        handler.close_connection = True


@contextmanager
def model_servers(calls: Calls, count: int = 2) -> Iterator[list[ModelServer]]:
    """Serve one model, which writes what mode ``free`` needs, on several ports."""
    with ExitStack() as stack:
        servers = [stack.enter_context(serving(PureWriter().answer)) for _ in range(count)]
        for server in servers:
            server.fault = calls.answer
        yield servers


def generate_arguments(docs: Path, out: Path, servers: Sequence[ModelServer], **options: object) -> list[object]:
    """Return the arguments of a small run in mode ``free``."""
    given = {
        "mode": "free", "mix": "simple=0.7,reasoning=0.3", "parser": "none", "workers": 3, "size": 30,
        "min_length": 0, **options,
    }  # fmt: skip
    lms = [part for server in servers for part in ("--lm", server.spec)]
    flags = [part for name, value in given.items() for part in (f"--{name.replace('_', '-')}", value)]
    return ["generate", docs, "--out", out, "--no-track", *lms, *flags]


def write_documents(folder: Path, places: int) -> Path:
    """Write a short document on each place, which becomes one chunk."""
    folder.mkdir(parents=True)
    for number in range(places):
        place = "".join("bdfgklmnprst"[number // 12**at % 12] + "aeio"[(number + at) % 4] for at in range(3)).title()
        facts = [f"The {thing} of {place} was built in {1500 + number}." for thing in ("mill", "bridge", "ferry")]
        (folder / f"{number:03}.md").write_text(f"# {place}\n\n" + " ".join(facts) + "\n", "utf-8")
    return folder
