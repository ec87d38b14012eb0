"""Reading chunks on all cores: in processes of their own where there are many, else in this one."""

import os
import signal
import threading
import time
import warnings
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from groundset.engine.models import languages_with
from groundset.processors import usable_processors
from groundset.runtime.parser import load_parser
from programs.languages.table import Languages
from programs.reading import read_chunk
from programs.types import Chunk, Context

_BATCH = 32
_FEWEST_FOR_PROCESSES = 8 * _BATCH  # for fewer it takes longer to start processes than to read
_FEWEST_FOR_EACH = 3 * _BATCH
_IDLE_SECONDS = 10  # after which a process ends and frees its memory


def read_batches(chunks: Sequence[Chunk], parser: Any) -> Generator[list[Context]]:
    """Yield chunks with what was read off them, in their order; what is read is the same wherever it is.

    Close it to end the processes early.
    """
    batches = [chunks[start : start + _BATCH] for start in range(0, len(chunks), _BATCH)]
    processes = min(usable_processors(), len(chunks) // _FEWEST_FOR_EACH)
    if len(chunks) < _FEWEST_FOR_PROCESSES or processes == 1:
        languages = languages_with(parser)
        yield from ([read_chunk(chunk, languages) for chunk in batch] for batch in batches)
        return
    from joblib import Parallel, delayed

    with _interrupts_ignored(), _ends_unwarned():
        found = Parallel(n_jobs=processes, return_as="generator", idle_worker_timeout=_IDLE_SECONDS)(
            delayed(_read)(batch, parser.name, os.getpid()) for batch in batches
        )
    try:
        for contexts in found:  # noqa: UP028 - delegating would close it before warnings are silenced
            yield contexts
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what was begun and is not wanted any more
            found.close()


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Ignore an interrupt, for the moment; processes that are started in it do so for good.

    A terminal sends it to every process, and only the one that stores what was read may end the others.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may say what becomes of a signal
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _ends_unwarned() -> Iterator[None]:
    """Let joblib's process that cleans up after a killed one, which is started in the block, do so without warnings."""
    name = "PYTHONWARNINGS"
    before = os.environ.get(name)
    os.environ[name] = ",".join(filter(None, (before, "ignore:resource_tracker")))
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def _read(batch: Sequence[Chunk], parser: str, parent: int) -> list[Context]:
    """Read chunks in a process that another one started."""
    _end_with(parent)
    return [read_chunk(chunk, _languages(parser)) for chunk in batch]


@cache
def _languages(parser: str) -> Languages:
    return languages_with(load_parser(parser))


@cache
def _end_with(parent: int) -> None:
    """End this process soon after the one that started it; it would wait for ever for a killed one to take results."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
