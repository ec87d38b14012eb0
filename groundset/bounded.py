"""Function calls in child processes, with limits on memory, CPU time and output size.

For work on untrusted files, which can be built so that reading them takes all memory or never ends. The operating
system enforces the limits, so they hold for native code too. A child serves many calls and is replaced when it dies.

Memory is limited on Linux only, where ``RLIMIT_DATA`` counts all memory that a process has written to.
"""

import json
import os
import select
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import IO, Any, NamedTuple

_ROOT = str(Path(__file__).parents[1])
# Threads of numeric libraries would only take memory for their stacks.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
_LENGTH = 8
_MEGABYTE = 1 << 20


class Limits(NamedTuple):
    """The limits of one child process.

    Attributes:
        memory_mb: memory written to, including that of libraries.
        output_mb: size of a result as JSON.
    """

    memory_mb: int
    output_mb: int


class LimitError(Exception):
    """A call exceeded a limit or its process died; the message says which, in a few words."""


class BoundedProcess:
    """A child process that serves calls of one function; started at the first call."""

    def __init__(self, function: str, limits: Limits) -> None:
        """Serve ``function``, named ``module:name``; its argument and result are JSON."""
        self._function = function
        self._limits = limits
        self._process: subprocess.Popen[bytes] | None = None
        self._calls = 0

    def __call__(self, argument: Any, seconds: float) -> Any:
        """Call the function.

        Args:
            argument: its argument.
            seconds: the limit of CPU time.

        Raises:
            LimitError: the call exceeded a limit, or its process died.
            RuntimeError: the function raised an exception; the traceback is a note.
        """
        is_fresh = self._calls == 0
        try:
            return self._call(argument, seconds)
        except _KilledError:
            self.end()
        except _ProcessError:
            self.end()
            if is_fresh:
                raise
        # State left by earlier calls may have been the cause, or whoever killed the process.
        try:
            return self._call(argument, seconds)
        except _ProcessError:
            self.end()
            raise

    def end(self) -> None:
        """End the process; the next call starts another."""
        process, self._process, self._calls = self._process, None, 0
        if process is not None:
            process.kill()
            _close(process)

    def _call(self, argument: Any, seconds: float) -> Any:
        if self._process is None:
            self._process = self._start()
        self._calls += 1
        request = json.dumps([seconds, argument]).encode()
        try:
            stdin, stdout = _pipes(self._process)
            stdin.write(len(request).to_bytes(_LENGTH, "big") + request)
            stdin.flush()
            length = int.from_bytes(_exactly(stdout, _LENGTH), "big")
            if length > self._limits.output_mb * _MEGABYTE:
                raise LimitError(f"gives more than {_amount(self._limits.output_mb)} of text")
            kind, content = json.loads(_exactly(stdout, length))
        except (OSError, EOFError):
            raise self._cause_of_death(seconds) from None
        except LimitError:
            self.end()
            raise
        if kind == "memory":
            raise _ProcessError(f"takes more than {_amount(self._limits.memory_mb)} of memory")
        if kind == "error":
            error = RuntimeError(content["error"])
            error.add_note(content["traceback"])
            raise error
        return content

    def _start(self) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            child_command("groundset.bounded:_serve", self._function, str(self._limits.memory_mb)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | ONE_THREAD,
        )

    def _cause_of_death(self, seconds: float) -> LimitError:
        """Return the error for a child that has ended."""
        process, self._process, self._calls = self._process, None, 0
        assert process is not None
        status = _close(process)
        if status == -signal.SIGPROF:
            return LimitError(f"takes more than {seconds:.0f} s of processor time")
        if status == -signal.SIGABRT:  # Python aborts when it has no memory left to raise MemoryError
            return _ProcessError(f"aborts its process or takes more than {_amount(self._limits.memory_mb)} of memory")
        name = signal.Signals(-status).name if status < 0 else f"status {status}"
        kind = _KilledError if status == -signal.SIGKILL else _ProcessError
        return kind(f"crashes its process ({name})")


def child_command(function: str, *arguments: str) -> list[str]:
    """Return the command line that calls a function, named ``module:name``, with strings in a new Python process."""
    module, _, name = function.partition(":")
    start = f"import sys; sys.path.append(sys.argv[1]); from {module} import {name}; {name}(*sys.argv[2:])"
    # -P: no module is imported from the working folder. The package's root comes last, so that it hides no module.
    return [sys.executable, "-P", "-c", start, _ROOT, *arguments]


def limit_memory(megabytes: int) -> None:
    """Limit the memory that this process may write to, and disable core dumps."""
    if sys.platform == "linux":
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (megabytes * _MEGABYTE, megabytes * _MEGABYTE))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class _ProcessError(LimitError):
    """A process ran out of memory or crashed; an earlier call may be the cause."""


class _KilledError(_ProcessError):
    """A process was killed, perhaps by a user or because other programs needed the memory."""


def _amount(megabytes: int) -> str:
    return f"{megabytes / 1024:g} GB" if megabytes >= 1024 else f"{megabytes} MB"


def _pipes(process: "subprocess.Popen[bytes]") -> tuple[IO[bytes], IO[bytes]]:
    assert process.stdin is not None
    assert process.stdout is not None
    return process.stdin, process.stdout


def _close(process: "subprocess.Popen[bytes]") -> int:
    stdin, stdout = _pipes(process)
    with suppress(BrokenPipeError):  # the child may not have read the whole request
        stdin.close()
    stdout.close()
    return process.wait()


def _exactly(stream: IO[bytes], size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return data


def own_pipes() -> tuple[IO[bytes], IO[bytes]]:
    """Take standard input and output for requests and answers; libraries may print to standard output."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    os.dup2(0, 1)
    return requests, answers


def end_with_parent(requests: IO[bytes]) -> None:
    """End this process when the other end of the pipe is closed, also in the middle of a request."""
    hung_up = select.poll()
    hung_up.register(requests, 0)  # without events, only its end is reported

    def watch() -> None:
        hung_up.poll()
        os._exit(1)

    Thread(target=watch, daemon=True).start()


def _serve(function: str, memory_mb: str) -> None:
    """Serve requests from standard input until it is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    requests, answers = own_pipes()
    end_with_parent(requests)
    limit_memory(int(memory_mb))
    module, _, name = function.partition(":")
    call: Callable[[Any], Any] = getattr(import_module(module), name)
    while length := requests.read(_LENGTH):
        seconds, argument = json.loads(requests.read(int.from_bytes(length, "big")))
        signal.setitimer(signal.ITIMER_PROF, seconds)  # SIGPROF ends native code too
        answer = _answer(call, argument)
        signal.setitimer(signal.ITIMER_PROF, 0)
        answers.write(len(answer).to_bytes(_LENGTH, "big"))
        answers.write(answer)
        answers.flush()


def _answer(call: Callable[[Any], Any], argument: Any) -> bytes:
    try:
        return json.dumps(["result", call(argument)]).encode()
    except MemoryError:
        return b'["memory", null]'
    except Exception as error:  # noqa: BLE001 - raised again in the parent
        content = {"error": f"{type(error).__name__}: {error}", "traceback": traceback.format_exc()}
        return json.dumps(["error", content]).encode()
