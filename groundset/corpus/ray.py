"""Work in threads, on a Ray cluster, or on one that is started on this machine, by Ray Data."""

import logging
import os
import secrets
import signal
import socket
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import Any

from groundset.bounded import usable_processors
from groundset.files import working_folder
from groundset.programs.errors import GroundsetError, InputError

# Ray reads these when it is imported. Without clusters of several machines it listens on the
# loopback address only. With a token it refuses other users of this machine; one from the
# environment is not written to the user's home.
_LOCAL_ONLY = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_AUTH_MODE": "token",
    "RAY_AUTH_TOKEN": secrets.token_hex(32),
}
_ALWAYS = {
    "PYTHONSAFEPATH": "1",
    "RAY_BACKEND_LOG_LEVEL": "fatal",
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".",  # else it prints the deaths of actors to standard output
}
_STORE_BYTES = (
    256 << 20
)  # results wait there until they are taken; larger ones are moved to the disk
_TEMPORARY = Path("/tmp")  # names of sockets are short, TMPDIR may not be
_CONNECT_SECONDS = 5.0
_ROWS_EACH = 4  # of a block; results are taken by blocks

_is_local = False  # whether this process imported Ray with the variables of `_LOCAL_ONLY`


Row = dict[str, Any]


def spread(
    engine: str, rows: list[Row], most: int, work: type[Any], *arguments: Any
) -> Iterator[Row]:
    """Yield what ``work(*arguments)`` returns for each row, in their order.

    It is built once in each thread, of which there are at most so many, and closed at the end; or
    in each process of a cluster. The engine is ``local``, ``ray`` for a cluster on this machine, or
    ``ray=ADDRESS``.

    Raises:
        InputError: Ray is not installed, or the cluster does not answer.
        GroundsetError: the work failed there.
    """
    if engine != "local":
        yield from _by_ray(engine, rows, work, arguments)
        return
    own, workers = threading.local(), []

    def begin() -> None:
        own.work = work(*arguments)
        workers.append(own.work)

    count = max(1, min(len(rows), usable_processors(), most))
    threads = ThreadPoolExecutor(count, initializer=begin)
    try:
        yield from threads.map(lambda row: own.work(row), rows)
    finally:
        for worker in workers:
            worker.close()
        threads.shutdown(cancel_futures=True)


def _by_ray(
    engine: str, rows: list[Row], work: type[Any], arguments: Sequence[Any]
) -> Iterator[Row]:
    with connected(engine):
        import ray
        import ray.data

        logging.getLogger("ray.data").setLevel(logging.CRITICAL)  # what fails is raised
        context = ray.data.DataContext.get_current()
        context.execution_options.preserve_order = True
        context.enable_progress_bars = False
        count = max(1, min(len(rows), int(ray.cluster_resources().get("CPU", 1))))
        data = ray.data.from_items(rows, override_num_blocks=-(-len(rows) // _ROWS_EACH)).map(
            work,
            fn_constructor_args=arguments,
            compute=ray.data.ActorPoolStrategy(min_size=1, max_size=count),
            num_cpus=1,
        )
        try:
            yield from data.iter_rows()
        except ray.exceptions.RayError as error:
            raise GroundsetError(f"--engine {engine}: {_reason(error)}") from error


@contextmanager
def connected(engine: str) -> Iterator[None]:
    """Connect to a cluster for the block; where this process is connected already, that is used.

    Raises:
        InputError: Ray is not installed, or the cluster does not answer.
    """
    global _is_local
    name, equals, address = engine.partition("=")
    if name != "ray" or (equals and not address):
        raise InputError(f"--engine {engine}: choose local, ray or ray=HOST:PORT")
    if "ray" in sys.modules and sys.modules["ray"].is_initialized():
        yield
        return
    options: dict[str, Any] = {
        "log_to_driver": False,
        "logging_level": "error",
        "configure_logging": False,
    }
    with working_folder(_TEMPORARY) as folder:
        os.environ.update(_ALWAYS)
        if address:
            host, _, port = address.rpartition(":")
            try:
                if port.isdecimal():  # Ray itself would try for minutes
                    socket.create_connection((host, int(port)), _CONNECT_SECONDS).close()
            except (OSError, OverflowError, UnicodeError) as error:
                cause = getattr(error, "strerror", None) or error
                raise InputError(
                    f"--engine {engine}: no cluster answers there ({cause})"
                ) from error
            options["address"] = address
        else:
            if "ray" in sys.modules and not _is_local:
                raise InputError(
                    f"--engine {engine}: Ray was imported before and would listen on all networks"
                )
            _is_local = True
            os.environ.update(_LOCAL_ONLY)
            options |= {
                "address": "local",
                "num_cpus": usable_processors(),
                "object_store_memory": _STORE_BYTES,
                "include_dashboard": False,
                "_temp_dir": str(
                    folder / "r"
                ),  # Ray opens it to everybody; the folder around it is private
            }
        try:
            import ray
        except ImportError as error:
            raise InputError(
                f"--engine {engine}: needs Ray; install it with `pip install 'groundset[ray]'`"
            ) from error
        try:
            with _starting(folder):
                ray.init(**options)
        except (OSError, RuntimeError, ValueError, ImportError, ray.exceptions.RayError) as error:
            raise InputError(f"--engine {engine}: cannot connect: {_reason(error)}") from error
        try:
            yield
        finally:
            ray.shutdown()


def _reason(error: Exception) -> str:
    lines = [line.strip() for line in str(error).strip().splitlines()] or [type(error).__name__]
    return next(
        (line for line in lines if line.startswith("ModuleNotFoundError")), lines[0]
    ).rstrip(".:")


@contextmanager
def _starting(folder: Path) -> Iterator[None]:
    """Keep Ray, in the block, from the working folder, which its processes would import from, and
    from this process.

    It writes a line to standard error, and replaces the handler of SIGTERM.
    """
    is_main = threading.current_thread() is threading.main_thread()  # others may not set handlers
    handler = signal.getsignal(signal.SIGTERM)
    errors = os.dup(2)
    try:
        with chdir(folder), open(os.devnull, "wb") as nowhere:  # noqa: PTH123 - a descriptor is needed
            os.dup2(nowhere.fileno(), 2)
            yield
    finally:
        os.dup2(errors, 2)
        os.close(errors)
        if is_main:
            signal.signal(signal.SIGTERM, handler)
