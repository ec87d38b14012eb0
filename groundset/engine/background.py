"""Preparation in the background: the chunks of a run become ready one after the other while attempts run."""

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import overload

from groundset.engine.stop import RunStoppedError
from groundset.retrieval.index import SEARCH_DEPTH, ChunkIndex
from programs.types import Context, Hit, Retrieval

_CHECK_SECONDS = 0.2  # between two calls of ``check`` while something is waited for
_LOW_PRIORITY = 10


class Preparation(Sequence[Context]):
    """The analysed chunks of a run in the order in which they are drawn; one that is not ready is waited for.

    :meth:`run` prepares them in this thread, :meth:`start` in another.
    """

    def __init__(
        self,
        total: int,
        slices: Callable[[Callable[[], None]], Iterable[list[Context]]],
        open_index: Callable[[], ChunkIndex],
        check: Callable[[], None],
        tick: Callable[[], None],
    ) -> None:
        """Wire the parts.

        Args:
            total: the number of chunks.
            slices: prepares them; gets a function to call again and again, which may raise.
            open_index: opens the index of all chunks, once they are ready.
            check: called again and again; may raise.
            tick: called while this thread waits.
        """
        self._total, self._slices, self._open_index, self._check = total, slices, open_index, check
        self._tick, self._owner = tick, threading.get_ident()
        self._is_closed = self._yields = False
        self._contexts: list[Context] = []
        self._changed = threading.Condition()
        self._index: ChunkIndex | None = None
        self._error: BaseException | None = None
        self._thread: threading.Thread | None = None

    def run(self) -> None:
        """Prepare all chunks."""
        for contexts in self._slices(self._check_open):
            with self._changed:
                self._contexts += contexts
                self._changed.notify_all()
            if self._yields:
                _lower_priority()
        index = self._open_index()
        with self._changed:
            self._index = index
            self._changed.notify_all()

    def start(self, *, yielding: bool) -> None:
        """Prepare all chunks in a thread; with ``yielding``, attempts come before it once the first are ready."""
        self._yields = yielding

        def work() -> None:
            try:
                self.run()
            except BaseException as error:  # noqa: BLE001 - raised again in the thread that runs the attempts
                with self._changed:
                    self._error = error
                    self._changed.notify_all()

        self._thread = threading.Thread(target=work, name="preparation", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread."""
        self._is_closed = True
        if self._thread is not None:
            self._thread.join()

    @property
    def is_done(self) -> bool:
        """Return whether all chunks and the index are ready; raise the error that ended the thread."""
        if self._error is not None and not isinstance(self._error, RunStoppedError):
            raise self._error
        return self._index is not None

    @property
    def chunk_index(self) -> ChunkIndex:
        """Return the index, once all chunks are ready."""
        self._wait(lambda: self._index is not None)
        assert self._index is not None
        return self._index

    @overload
    def __getitem__(self, index: int) -> Context: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Context]: ...

    def __getitem__(self, index: int | slice) -> Context | Sequence[Context]:
        """Return a chunk once it is ready, or several once all are."""
        needed = index + 1 if isinstance(index, int) and index >= 0 else self._total
        if isinstance(index, int) and index >= self._total:
            raise IndexError(index)
        self._wait(lambda: len(self._contexts) >= needed)
        return self._contexts[index]

    def __len__(self) -> int:
        """Return the number of all chunks."""
        return self._total

    def _check_open(self) -> None:
        if self._is_closed:
            raise RunStoppedError
        self._check()

    def _wait(self, is_ready: Callable[[], bool]) -> None:
        """Wait for the other thread.

        Raises:
            RunStoppedError: it has ended early.
        """
        while not is_ready():
            if self._error is not None:
                raise RunStoppedError from self._error
            with self._changed:
                self._changed.wait_for(lambda: is_ready() or self._error is not None, _CHECK_SECONDS)
            self._check()
            if threading.get_ident() == self._owner:
                self._tick()


def _lower_priority() -> None:
    """Let other threads come before this one and what it starts, where threads have a priority of their own."""
    if sys.platform == "linux":
        thread = threading.get_native_id()
        os.setpriority(os.PRIO_PROCESS, thread, max(_LOW_PRIORITY, os.getpriority(os.PRIO_PROCESS, thread)))


class LateIndex:
    """The index of a run's chunks; a search waits until all are ready."""

    def __init__(self, preparation: Preparation) -> None:
        """Search the index of a preparation."""
        self._preparation = preparation

    def search(self, query: str, limit: int = SEARCH_DEPTH) -> list[Hit]:
        """Return the chunks most similar to a query, the most similar first."""
        return self._preparation.chunk_index.search(query, limit)

    def near(self, chunk_id: str, limit: int) -> list[Hit]:
        """Return the chunks most similar to a chunk, without itself, the most similar first."""
        return self._preparation.chunk_index.near(chunk_id, limit)

    def rank(self, query: str, relevant: Sequence[Sequence[str]]) -> Retrieval:
        """Search for a query and return the rank at which all groups of ``relevant`` are found."""
        return self._preparation.chunk_index.rank(query, relevant)


class LateCorpus(Mapping[str, Context]):
    """All chunks of a run by id; each access waits until all are ready."""

    def __init__(self, preparation: Preparation, ids: Sequence[str]) -> None:
        """Show the chunks of a preparation in the order of ``ids``."""
        self._preparation = preparation
        self._ids = ids

    @cached_property
    def _contexts(self) -> dict[str, Context]:
        found = {context.chunk.chunk_id: context for context in self._preparation}
        return {name: found[name] for name in self._ids}

    def __getitem__(self, key: str) -> Context:
        """Return a chunk by its id."""
        return self._contexts[key]

    def __iter__(self) -> Iterator[str]:
        """Return an iterator over the ids."""
        return iter(self._ids)

    def __len__(self) -> int:
        """Return the number of chunks."""
        return len(self._ids)
