"""Work in threads, on a Ray cluster, by Ray Data."""

import logging
import os
import re
import signal
import socket
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import chdir, contextmanager
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any

from groundset.bounded import usable_processors
from groundset.programs.errors import GroundsetError, InputError, first_line

_ALWAYS = {
    "PYTHONSAFEPATH": "1",
    "RAY_BACKEND_LOG_LEVEL": "fatal",
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".",  # else it prints the deaths of actors to standard output
}
_CONNECT_SECONDS = 5.0
_ROWS_EACH = 4  # of a block; results are taken by blocks

Row = dict[str, Any]


def spread(
    engine: str, rows: list[Row], most: int, work: type[Any], *arguments: Any
) -> Iterator[Row]:
    """Yield what ``work(*arguments)`` returns for each row, in their order.

    It is built once in each thread, of which there are at most so many, and closed at the end; or
    in each process of a cluster. The engine is ``local`` or ``ray=ADDRESS``.

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
    name, _, address = engine.partition("=")
    if name != "ray" or not address:
        raise InputError(f"--engine {engine}: choose local or ray=HOST:PORT")
    if "ray" in sys.modules and sys.modules["ray"].is_initialized():
        yield
        return
    host, _, port = address.rpartition(":")
    try:
        if port.isdecimal():  # Ray itself would try for minutes
            socket.create_connection((host, int(port)), _CONNECT_SECONDS).close()
    except (OSError, OverflowError, UnicodeError) as error:
        cause = getattr(error, "strerror", None) or error
        raise InputError(f"--engine {engine}: no cluster answers there ({cause})") from error
    os.environ.update(_ALWAYS)
    try:
        import ray
    except ImportError as error:
        raise InputError(
            f"--engine {engine}: needs Ray; install it with `pip install 'groundset[ray]'`"
        ) from error
    try:
        with _starting():
            ray.init(address, log_to_driver=False, logging_level="error", configure_logging=False)
    except (OSError, RuntimeError, ValueError, ImportError, ray.exceptions.RayError) as error:
        raise InputError(f"--engine {engine}: cannot connect: {_reason(error)}") from error
    try:
        yield
    finally:
        ray.shutdown()


def _reason(error: Exception) -> str:
    missing = re.search("ModuleNotFoundError.*", str(error))
    return missing[0] if missing else first_line(error)


@contextmanager
def _starting() -> Iterator[None]:
    """Keep Ray, in the block, from the working folder, which its processes would import from, and
    from this process.

    It writes a line to standard error, and replaces the handler of SIGTERM.
    """
    is_main = threading.current_thread() is threading.main_thread()  # others may not set handlers
    handler = signal.getsignal(signal.SIGTERM)
    errors = os.dup(2)
    try:
        with TemporaryDirectory() as folder, chdir(folder), TemporaryFile() as unread:
            os.dup2(unread.fileno(), 2)
            yield
    finally:
        os.dup2(errors, 2)
        os.close(errors)
        if is_main:
            signal.signal(signal.SIGTERM, handler)
