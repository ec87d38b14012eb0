"""What is attacked: the command line of one checkout, run in processes that are watched and ended in time."""

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
_ENVIRONMENT = dict(os.environ)  # as it is before an attack imports groundset, which sets variables
_MAIN = "from groundset.commands import main; main()"


class Outcome(NamedTuple):
    """How one command ended.

    Attributes:
        status: its exit status; minus the signal that ended it; None if it was ended for its time or memory.
        seconds: how long it ran.
        peak_mib: the most that it and the processes below it held at once.
        text: what it printed, both streams together.
    """

    status: int | None
    seconds: float
    peak_mib: float
    text: str

    def fault(self, status: int | tuple[int, ...] = 2, says: str = "") -> str:
        """Return what is wrong with an outcome, empty if it has the status and says the text that it should."""
        wanted = (status,) if isinstance(status, int) else status
        if self.status is None:
            return self.text.strip().rpartition("\n")[2]
        if self.status not in wanted:
            return f"status {self.status}: {_last_line(self.text)}"
        return "" if says in self.text else f"does not say {says!r}: {_last_line(self.text)}"


class Running:
    """A command that runs in the background until it is ended."""

    def __init__(self, process: "subprocess.Popen[bytes]", output: Path) -> None:
        """Watch a process that writes to a file."""
        self.process = process
        self._output = output

    @property
    def text(self) -> str:
        """Return what it has printed."""
        return self._output.read_text(encoding="utf-8", errors="replace")

    def wait_for(self, text: str, seconds: float = 60) -> bool:
        """Wait until it has printed a text; say whether it has."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and self.process.poll() is None:
            if text in self.text:
                return True
            time.sleep(_TICK_S)
        return text in self.text

    def end(self) -> None:
        """End it and all that it started."""
        end_group(self.process)


class Target:
    """One checkout of groundset; it adds up what the commands of one attack cost.

    Attributes:
        status: the exit status of the last command.
        seconds: the time that all commands took together.
        peak_mib: the most that one of them held.
        last_line: the last line that the last command printed.
    """

    def __init__(self, checkout: Path) -> None:
        """Attack the code in a folder."""
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
        """Run ``groundset`` with these arguments; end it when it takes more time or memory than this.

        ``counts`` says whether it is part of the attack and not of its preparation.
        """
        return self.watch(self.start(*arguments, cwd=cwd, env=env), seconds, memory_mib, counts=counts)

    def watch(
        self, running: Running, seconds: float = 60, memory_mib: float = 2_000, *, counts: bool = True
    ) -> Outcome:
        """Wait for a command that was started; end it when it takes more time or memory than this."""
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
        end_group(running.process)
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
        """Start ``groundset``, or other Python code, with these arguments in a group of processes of its own."""
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


def end_group(process: "subprocess.Popen[bytes]") -> None:
    """End a process and all that it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _tree_mib(root: int) -> float:
    """Return the memory that a process and those below it hold, what they share counted once."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int(
                    (entry / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[1]
                )
            except OSError:
                continue  # it has ended
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
