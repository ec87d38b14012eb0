"""Actors of Ray, on a cluster or on one that is started on this machine.

Plain actors, each driven by a thread of this process, rather than Ray Data or `ray.util.ActorPool`. Ray Data keeps the
order only of whole blocks, converts rows to Arrow and back, and repeats all rows of a block whose actor died without
naming one. ActorPool takes all items at once and cannot replace an actor that died.
"""

import os
import secrets
import signal
import socket
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from groundset import __version__
from groundset.executors.base import (
    Executor,
    ExecutorKind,
    Item,
    LoadedOperator,
    Operator,
    Result,
    WorkerAnswer,
    WorkerDiedError,
    map_on_workers,
)
from groundset.processors import usable_processors, use_one_processor
from groundset.working_folders import working_folder
from programs.errors import InputError

# Ray reads these when it is imported. Without clusters of several machines it listens on the loopback address only.
# With a token it refuses other users of this machine; one from the environment is not written to the user's home.
_QUIET = {"RAY_DEDUP_LOGS_SKIP_REGEX": "."}  # else it prints the deaths of actors to standard output
_LOCAL_ONLY = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_AUTH_MODE": "token",
    "RAY_AUTH_TOKEN": secrets.token_hex(32),
}
_STORE_BYTES = 256 << 20  # results wait there until they are taken; larger ones are moved to the disk
_TEMPORARY = Path("/tmp")  # names of sockets are short, TMPDIR may not be
_CONNECT_SECONDS = 5.0

_is_local = False  # whether this process imported Ray with the variables of `_LOCAL_ONLY`


class RayExecutor:
    """Runs operators in actors of the cluster that this process is connected to."""

    is_local = False

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
        import ray

        del most  # a limit of this machine
        # Of all processors: those of actors that were just ended are not free yet for a while. An actor without a free
        # one waits, and the others do its work.
        count = int(max(1, min(parts, ray.cluster_resources().get("CPU", 1))))
        return map_on_workers(partial(_Actor, operator), operator, items, count, check)


class _Served:
    """An operator in an actor."""

    def __init__(self, operator: Operator[Any, Any]) -> None:
        use_one_processor()
        self._loaded = LoadedOperator(operator)

    def version(self) -> str:
        return __version__

    def answer(self, item: Any) -> WorkerAnswer:
        return self._loaded.answer(item)


class _Actor:
    """An actor that applies an operator."""

    def __init__(self, operator: Operator[Any, Any]) -> None:
        import ray

        # A new actor replaces one that has died, so that Ray restarts none.
        self._actor = ray.remote(num_cpus=1, max_restarts=0, max_task_retries=0)(_Served).remote(operator)

    def ready(self) -> None:
        version = self._get(self._actor.version.remote())
        if version != __version__:
            raise InputError(
                f"--engine ray: a node has groundset {version}, this machine {__version__}; use one version"
            )

    def answer(self, item: Any) -> WorkerAnswer:
        answer: WorkerAnswer = self._get(self._actor.answer.remote(item))
        return answer

    def close(self) -> None:
        import ray

        ray.kill(self._actor)

    def _get(self, reference: Any) -> Any:
        import ray

        try:
            return ray.get(reference)
        except ray.exceptions.RayError as error:
            raise WorkerDiedError(_reason(error)) from None


def _reason(error: Exception) -> str:
    lines = [line.strip() for line in str(error).strip().splitlines()] or [type(error).__name__]
    if lines[0].startswith("Version mismatch"):  # the versions are on the next lines
        return " ".join(lines)
    missing = [line for line in lines if line.startswith("ModuleNotFoundError")]
    return (missing or lines)[0].rstrip(".:")


def _check_address(address: str) -> None:
    """Check that something listens at an address; Ray itself tries for minutes, and prints lines of its own.

    Raises:
        InputError: nothing does.
    """
    host, _, port = address.rpartition(":")
    if "://" in address:
        raise InputError(
            f"--engine ray={address}: is for Ray Client; join this machine to the cluster by "
            "`ray start --address=HOST:6379` and name ray=HOST:6379"
        )
    if not (host and port.isdecimal()):
        return  # Ray knows more forms, such as `auto`, and refuses others at once
    try:
        socket.create_connection((host, int(port)), _CONNECT_SECONDS).close()
    except (OSError, OverflowError, UnicodeError) as error:
        cause = getattr(error, "strerror", None) or error
        raise InputError(
            f"--engine ray={address}: no cluster answers there ({cause}); check the address, and that "
            "`ray start --head` runs on that machine"
        ) from error


@contextmanager
def _open(address: str | None) -> Iterator[Executor]:
    """Connect to a cluster, by default to one that is started for the block on this machine.

    Raises:
        InputError: Ray is not installed, or the cluster does not answer.
    """
    spec = f"ray={address}" if address else "ray"
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "error", "configure_logging": False}
    with ExitStack() as stack:
        stack.enter_context(_environment(_QUIET))
        if address is None:
            _refuse_imported()
            stack.enter_context(_environment(_LOCAL_ONLY))
            folder = stack.enter_context(working_folder(_TEMPORARY))
            options |= {
                "address": "local",
                "num_cpus": usable_processors(),
                "object_store_memory": _STORE_BYTES,
                "include_dashboard": False,
                "_temp_dir": str(folder),
            }
        else:
            _check_address(address)
            options["address"] = address
        try:
            import ray
        except ImportError as error:
            raise InputError(f"--engine {spec}: needs Ray; install it with `pip install 'groundset[ray]'`") from error
        try:
            with _handlers_kept():
                ray.init(**options)
        except (OSError, RuntimeError, ValueError, ImportError, ray.exceptions.RayError) as error:
            raise InputError(f"--engine {spec}: cannot connect: {_reason(error)}") from error
        stack.callback(ray.shutdown)
        yield RayExecutor()


def _refuse_imported() -> None:
    """Refuse to start a cluster if Ray was imported without the variables above.

    Raises:
        InputError: it was.
    """
    global _is_local
    if "ray" in sys.modules and not _is_local:
        raise InputError("--engine ray: Ray was imported before and would listen on all networks; name ray=ADDRESS")
    _is_local = True


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables in the block."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def _handlers_kept() -> Iterator[None]:
    """Restore the handler of SIGTERM, which Ray replaces, after the block."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may set handlers; Ray leaves them alone in others
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


EXECUTOR = ExecutorKind("ray", _open, takes_address=True)
