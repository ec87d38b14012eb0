"""Chunks are embedded, and judged by a head, beside the first attempts: in the order in which they are asked about."""

import threading
from collections.abc import Callable, Sequence

import numpy as np

from groundset.corpus.corpus import Corpus
from groundset.corpus.prepare import prepare_batches
from groundset.progress import Progress
from groundset.retrieval.embed import Embedder
from groundset.retrieval.index import Index
from groundset.run.run import read_vectors, write_vectors
from groundset.run.store import Store
from programs.heads import HeadJudge
from programs.judges import Verdict
from programs.types import Chunk

_TICK_SECONDS = 0.25


class Preparing:
    """Prepares the chunks of a run in a thread; who needs what is not ready waits for it.

    That a search waits for all chunks keeps a run with one worker the same, however long preparing takes.
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

        Args:
            corpus: the documents and chunks.
            order: the places of the chunks in the order in which they are asked about.
            embedder: embeds them.
            head: judges the chunks, if a head does.
            engine: where; see :func:`groundset.corpus.prepare.prepare_batches`.
            store: keeps the judgements; the vectors lie beside it.
            progress: shows how many are prepared.
            check: called while something is waited for; raises if the run stops.
        """
        self._corpus, self.embedder, self._head = corpus, embedder, head
        self._store, self._progress, self._check = store, progress, check
        self._verdicts: dict[str, Verdict] = {}
        self._index: Index | None = None
        self._changed = threading.Condition()
        self._error: BaseException | None = None
        if (stored := store.meta("verdicts")) is not None:
            self._verdicts = {chunk_id: Verdict(*values) for chunk_id, values in stored.items()}
            self._index = Index(read_vectors(store.path.parent), corpus.chunks, embedder)
        else:
            threading.Thread(target=self._prepare, args=(order, engine), daemon=True).start()

    def verdict(self, chunk: Chunk) -> Verdict:
        """Return whether a chunk is fit to ask about, once it is known."""
        self._wait(lambda: chunk.chunk_id in self._verdicts)
        return self._verdicts[chunk.chunk_id]

    def index(self) -> Index:
        """Return the search of all chunks, once they are prepared."""
        self._wait(lambda: self._index is not None)
        assert self._index is not None
        return self._index

    def _wait(self, is_ready: Callable[[], bool]) -> None:
        with self._changed:
            while not is_ready():
                if self._error is not None:
                    raise self._error
                self._check()
                self._changed.wait(_TICK_SECONDS)

    def _prepare(self, order: Sequence[int], engine: str) -> None:
        chunks = self._corpus.chunks
        vectors = np.zeros((len(chunks), self.embedder.dimension), dtype=np.float32)
        try:
            for batch in prepare_batches(self._corpus, self.embedder, self._head, order, engine=engine):
                vectors[batch.places] = batch.vectors
                ids = (chunks[place].chunk_id for place in batch.places)
                self._progress.advance(len(batch.places))
                with self._changed:
                    self._verdicts |= dict(zip(ids, batch.verdicts, strict=False))
                    self._changed.notify_all()
            write_vectors(self._store.path.parent, vectors)
            self._store.set_meta("verdicts", self._verdicts)
            index = Index(vectors, chunks, self.embedder)
            with self._changed:
                self._index = index
                self._changed.notify_all()
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            with self._changed:
                self._error = error
                self._changed.notify_all()
