"""The target of attacks: the command line of a checkout, run in processes with limits on time and memory."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_TICK_S = 0.05
_ENVIRONMENT = dict(os.environ)  # before groundset is imported, which sets variables
_MAIN = "from groundset.commands import main; main()"


class Outcome(NamedTuple):
    """The outcome of a command.

    Attributes:
        status: the exit status; negative for a signal; None if the command was killed for its time or memory.
        seconds: its duration.
        peak_mib: the peak memory of the command and its child processes.
        text: its output, both streams together.
    """

    status: int | None
    seconds: float
    peak_mib: float
    text: str

    def fault(self, status: int | tuple[int, ...] = 2, message: str = "") -> str:
        """Return the difference from an expected status and message, empty without one."""
        expected = (status,) if isinstance(status, int) else status
        if self.status is None:
            return self.text.strip().rpartition("\n")[2]
        if self.status not in expected:
            return f"status {self.status}: {_last_line(self.text)}"
        return "" if message in self.text else f"no message {message!r}: {_last_line(self.text)}"


class Running:
    """A command that runs in the background."""

    def __init__(self, process: "subprocess.Popen[bytes]", output: Path) -> None:
        """Wrap a process that writes to a file."""
        self.process = process
        self._output = output

    @property
    def text(self) -> str:
        """Return the output so far."""
        return self._output.read_text(encoding="utf-8", errors="replace")

    def wait_for(self, text: str, seconds: float = 60) -> bool:
        """Wait for a text in the output; return whether it is there."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and self.process.poll() is None:
            if text in self.text:
                return True
            time.sleep(_TICK_S)
        return text in self.text

    def kill(self) -> None:
        """Kill the command and its child processes."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


class Target:
    """A checkout of groundset; adds up the costs of the commands of an attack.

    Attributes:
        status: the exit status of the last command.
        seconds: the total time of all commands.
        peak_mib: the peak memory of any command.
        last_line: the last line of output of the last command.
    """

    def __init__(self, checkout: Path) -> None:
        """Use the code in a folder."""
        self._checkout = checkout
        self._outputs = tempfile.TemporaryDirectory(prefix="groundset-hostile-")
        self.status: int | None = None
        self.seconds = 0.0
        self.peak_mib = 0.0
        self.last_line = ""

    def run(
        self,
        *arguments: str | Path,
        seconds: float = 60,
        memory_mib: float = 2_000,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        counts: bool = True,
    ) -> Outcome:
        """Run ``groundset`` with limits on time and memory.

        ``counts`` is False for commands that prepare the attack.
        """
        return self.watch(self.start(*arguments, cwd=cwd, env=env), seconds, memory_mib, counts=counts)

    def watch(
        self, running: Running, seconds: float = 60, memory_mib: float = 2_000, *, counts: bool = True
    ) -> Outcome:
        """Wait for a command with limits on time and memory."""
        started = time.monotonic()
        peak = 0.0
        over = ""
        while running.process.poll() is None and not over:
            peak = max(peak, _tree_mib(running.process.pid))
            if peak > memory_mib:
                over = f"more than {memory_mib:.0f} MiB after {time.monotonic() - started:.0f} s"
            elif time.monotonic() - started > seconds:
                over = f"not done after {seconds:.0f} s"
            time.sleep(_TICK_S)
        running.kill()
        took = time.monotonic() - started
        outcome = Outcome(
            None if over else running.process.returncode,
            took,
            peak,
            f"{running.text}\n{over}" if over else running.text,
        )
        if counts:
            self.status, self.last_line = outcome.status, _last_line(outcome.text)
            self.seconds += took
            self.peak_mib = max(self.peak_mib, peak)
        return outcome

    def start(
        self, *arguments: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None, code: str = _MAIN
    ) -> Running:
        """Start ``groundset``, or other Python code, in a separate process group."""
        handle, name = tempfile.mkstemp(dir=self._outputs.name)
        with os.fdopen(handle, "wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-c", code, *map(str, arguments)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=cwd or Path(self._outputs.name),
                env={**_ENVIRONMENT, "PYTHONPATH": str(self._checkout), **(env or {})},
                start_new_session=True,
            )
        return Running(process, Path(name))


def _tree_mib(root: int) -> float:
    """Return the memory of a process and its descendants, with shared memory counted once."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int(
                    (entry / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[1]
                )
            except OSError:
                continue  # the process has exited
            parents.setdefault(parent, []).append(int(entry.name))
    kilobytes, waiting = 0, [root]
    while waiting:
        process = waiting.pop()
        waiting += parents.get(process, [])
        try:
            rollup = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii")
        except OSError:
            continue
        kilobytes += next((int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:")), 0)
    return kilobytes / 1024


def _last_line(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")
