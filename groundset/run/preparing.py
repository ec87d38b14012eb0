"""Chunks are embedded, and judged by a head, beside the first attempts: in the order in which they
are asked about.
"""

import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from groundset.corpus.corpus import Corpus
from groundset.corpus.prepare import prepare_batches
from groundset.printing import Progress
from groundset.programs.heads import HeadJudge
from groundset.programs.outcome import Verdict
from groundset.programs.types import Chunk, Hit
from groundset.retrieval.embed import Embedder
from groundset.retrieval.index import Index
from groundset.run.run import read_vectors, write_vectors
from groundset.run.store import Store

_TICK_SECONDS = 0.25
_Part = TypeVar("_Part")


class Preparing:
    """Prepares the chunks of a run in a thread; who needs what is not ready waits for it.

    That a search waits for all chunks keeps a run with one worker the same, however long preparing
    takes.
    """

    def __init__(
        self,
        corpus: Corpus,
        order: Sequence[int],
        embedder: Embedder,
        head: HeadJudge | None,
        engine: str,
        store: Store,
        progress: Progress,
        check: Callable[[], None],
    ) -> None:
        """Begin to prepare, unless an earlier process has.

        ``order`` has the places of the chunks in the order in which they are asked about; ``store``
        keeps what the head decides; ``check`` is called while something is waited for, and raises
        if the run stops.
        """
        self._corpus, self.embedder, self._head = corpus, embedder, head
        self._store, self._progress, self._check = store, progress, check
        self._verdicts: dict[str, Verdict] = {}
        self._index: Index | None = None
        self._changed = threading.Condition()
        self._error: BaseException | None = None
        if (stored := store.meta("verdicts")) is not None:
            self._verdicts = {chunk_id: Verdict(*values) for chunk_id, values in stored.items()}
            self._index = Index(
                read_vectors(store.path.parent, len(corpus.chunks)), corpus.chunks, embedder
            )
        else:
            threading.Thread(target=self._prepare, args=(order, engine), daemon=True).start()

    def verdict(self, chunk: Chunk) -> Verdict:
        """Return whether a chunk is fit to ask about, once it is known."""
        return self._awaited(lambda: self._verdicts.get(chunk.chunk_id))

    def index(self) -> Index:
        """Return the search of all chunks, once they are prepared."""
        return self._awaited(lambda: self._index)

    def search(self, query: str, limit: int) -> list[Hit]:
        """Return the chunks most similar to a query, once all are prepared."""
        return self.index().search(query, limit)

    def _awaited(self, part: Callable[[], _Part | None]) -> _Part:
        with self._changed:
            while (ready := part()) is None:
                if self._error is not None:
                    raise self._error
                self._check()
                self._changed.wait(_TICK_SECONDS)
        return ready

    def _prepare(self, order: Sequence[int], engine: str) -> None:
        chunks = self._corpus.chunks
        vectors = np.zeros((len(chunks), self.embedder.dimension), dtype=np.float32)
        try:
            for batch in prepare_batches(
                self._corpus, self.embedder, self._head, order, engine=engine
            ):
                vectors[batch.places] = batch.vectors
                ids = (chunks[place].chunk_id for place in batch.places)
                self._progress.advance(len(batch.places))
                self._verdicts |= dict(zip(ids, batch.verdicts, strict=False))
                self._tell()
            write_vectors(self._store.path.parent, vectors)
            self._store.set_meta("verdicts", self._verdicts)
            self._index = Index(vectors, chunks, self.embedder)
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            self._error = error
        self._tell()

    def _tell(self) -> None:
        with self._changed:
            self._changed.notify_all()
