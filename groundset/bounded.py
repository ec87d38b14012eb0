"""Function calls in child processes, with limits on memory, time and output size.

For work on untrusted files, which can be built so that reading them takes all memory or never ends.
The operating system enforces the limits, so they hold for native code too. A child serves many
calls and is replaced when it dies. Memory is limited on Linux only, where ``RLIMIT_DATA`` counts
all memory that a process has written to.
"""

import json
import os
import select
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from pkgutil import resolve_name
from threading import Thread
from typing import Any

_ROOT = str(Path(__file__).parents[1])
# Threads of numeric libraries would only take memory for their stacks.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
# seconds of waiting for disks and other processes that are allowed for each second of processor
# time
_WAITING = 20


class LimitError(Exception):
    """A call exceeded a limit or its process died; the message says which, in a few words."""


class _DiedError(LimitError):
    """A process crashed or ran out of memory; an earlier call, or whoever killed it, may be the
    cause.
    """


class BoundedProcess:
    """A child process that serves calls of one function; started at the first call. Not for several
    threads.
    """

    def __init__(self, function: str, *, memory_mb: int, output_mb: int) -> None:
        """Serve ``function``, named ``module:name``; its argument and result are JSON.

        It is limited in the memory that it writes to, that of libraries included, and in the size
        of a result as JSON.
        """
        self._function, self._memory_mb, self._output_mb = function, memory_mb, output_mb
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._is_killed = False

    def __call__(self, argument: Any, seconds: float) -> Any:
        """Call the function, for at most as many seconds of processor time.

        Raises:
            LimitError: the call exceeded a limit, or its process died.
            RuntimeError: the function raised an exception; the traceback is a note.
        """
        try:
            return self._call(argument, seconds)
        except _DiedError:
            if self._is_killed:
                raise
        return self._call(argument, seconds)

    def kill(self) -> None:
        """End the process for good, from any thread; a running call fails."""
        self._is_killed = True
        if (process := self._process) is not None:
            process.kill()
            process.wait()

    def end(self) -> int:
        """End the process, and return its exit status; the next call starts another."""
        process, self._process = self._process, None
        if process is None:
            return 0
        process.kill()
        if self._connection is not None:
            self._connection.close()
        return process.wait()

    def _call(self, argument: Any, seconds: float) -> Any:
        if self._is_killed:
            raise LimitError("was ended")
        connection = self._started()
        try:
            connection.send_bytes(json.dumps([seconds, seconds * _WAITING, argument]).encode())
            kind, content = json.loads(connection.recv_bytes(self._output_mb << 20))
        except (EOFError, ConnectionError):
            raise self._cause_of_death(seconds) from None
        except OSError:  # of a longer answer
            self.end()
            raise LimitError(f"gives more than {self._output_mb} MB of text") from None
        if kind == "memory":
            self.end()
            raise _DiedError(f"takes more than {self._memory_mb} MB of memory")
        if kind == "error":
            error = RuntimeError(content["error"])
            error.add_note(content["traceback"])
            raise error
        return content

    def _started(self) -> Connection:
        """Return the connection to the process, which is started if there is none."""
        if self._process is None or self._connection is None:
            self._connection, theirs = Pipe()
            descriptor, limit = theirs.fileno(), self._memory_mb
            command = child_command(
                "groundset.bounded:_serve", self._function, str(limit), str(descriptor)
            )
            none, environment = subprocess.DEVNULL, os.environ | ONE_THREAD  # libraries may print
            self._process = subprocess.Popen(
                command,
                stdin=none,
                stdout=none,
                stderr=none,
                env=environment,
                pass_fds=[descriptor],
            )
            theirs.close()
        return self._connection

    def _cause_of_death(self, seconds: float) -> LimitError:
        """Return the error for a child that has ended."""
        if self._process is not None:
            self._process.wait()  # it has closed its pipe; killing it now would hide its own status
        status = self.end()
        if status == -signal.SIGPROF:
            return LimitError(f"takes more than {seconds:.0f} s of processor time")
        if status == -signal.SIGALRM:
            return LimitError(f"takes more than {seconds * _WAITING:.0f} s")
        # Python aborts when it has no memory left to raise MemoryError
        if status == -signal.SIGABRT:
            return _DiedError(
                f"aborts its process or takes more than {self._memory_mb} MB of memory"
            )
        return _DiedError(
            "crashes its process"
            f" ({signal.Signals(-status).name if status < 0 else f'status {status}'})"
        )


def child_command(function: str, *arguments: str) -> list[str]:
    """Return the command line that calls a function, named ``module:name``, with strings in a new
    Python process.
    """
    start = (
        "import pkgutil, sys; sys.path.append(sys.argv[1]);"
        " pkgutil.resolve_name(sys.argv[2])(*sys.argv[3:])"
    )
    # -P: no module is imported from the working folder. The package's root comes last, so that it
    # hides no module.
    return [sys.executable, "-P", "-c", start, _ROOT, function, *arguments]


def limit_memory(megabytes: int) -> None:
    """Limit the memory that this process may write to, and disable core dumps."""
    if sys.platform == "linux":
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (megabytes << 20, megabytes << 20))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def usable_processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _serve(function: str, memory_mb: str, descriptor: str) -> None:
    """Serve requests from a connection until it is closed, also in the middle of a request."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    connection = Connection(int(descriptor))
    Thread(target=_end_with_parent, args=[connection], daemon=True).start()
    limit_memory(int(memory_mb))
    call: Callable[[Any], Any] = resolve_name(function)
    while True:
        seconds, waiting, argument = json.loads(connection.recv_bytes())
        signal.setitimer(signal.ITIMER_PROF, seconds)  # the signals end native code too
        signal.setitimer(signal.ITIMER_REAL, waiting)
        answer = _answer(call, argument)
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        connection.send_bytes(answer)


def _end_with_parent(connection: Connection) -> None:
    hung_up = select.poll()
    hung_up.register(connection, 0)  # without events, only its end is reported
    hung_up.poll()
    os._exit(1)


def _answer(call: Callable[[Any], Any], argument: Any) -> bytes:
    try:
        return json.dumps(["result", call(argument)]).encode()
    except MemoryError:
        return b'["memory", null]'
    except Exception as error:  # noqa: BLE001 - raised again in the parent
        content = {"error": f"{type(error).__name__}: {error}", "traceback": traceback.format_exc()}
        return json.dumps(["error", content]).encode()
