"""Chunks are embedded, and judged by a head, beside the first attempts: in the order in which they are asked about."""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from groundset.corpus.corpus import Corpus
from groundset.retrieval.index import Index
from groundset.run.folder import VECTORS
from groundset.run.run import write_vectors
from groundset.run.store import Store
from programs.judges import Verdict, verdict
from programs.text import plain
from programs.types import Chunk

_BATCH = 64
_TICK_SECONDS = 0.25


class Preparing:
    """Prepares the chunks of a run in a thread; who needs what is not ready waits for it.

    That a search waits for all chunks keeps a run with one worker the same, however long preparing takes.
    """

    def __init__(
        self, corpus: Corpus, order: Sequence[int], embedder: Any, head: Any, store: Store, check: Callable[[], None]
    ) -> None:
        """Begin to prepare, unless an earlier process has.

        Args:
            corpus: the documents and chunks.
            order: the places of the chunks in the order in which they are asked about.
            embedder: embeds them.
            head: the ``HeadJudge`` of chunks; None if no head judges them.
            store: keeps the judgements; the vectors lie beside it.
            check: called while something is waited for; raises if the run stops.
        """
        self._corpus, self._embedder, self._head, self._store = corpus, embedder, head, store
        self._check = check
        self._folder: Path = store.path.parent
        self._verdicts: dict[str, Verdict] = {}
        self._index: Index | None = None
        self._changed = threading.Condition()
        self._error: BaseException | None = None
        stored = store.meta("chunk_verdicts")
        if stored is not None and (self._folder / VECTORS).exists():
            self._verdicts = {chunk_id: Verdict(*values) for chunk_id, values in stored.items()}
            vectors = np.load(self._folder / VECTORS, mmap_mode="r", allow_pickle=False)
            self._index = Index(vectors, corpus.chunks, embedder)
        else:
            threading.Thread(target=self._prepare, args=(order,), daemon=True).start()

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

    def _prepare(self, order: Sequence[int]) -> None:
        try:
            chunks = self._corpus.chunks
            vectors = np.zeros((len(chunks), self._embedder.dimension), dtype=np.float32)
            for start in range(0, len(order), _BATCH):
                places = order[start : start + _BATCH]
                batch = [chunks[place] for place in places]
                texts = [plain(chunk.text) for chunk in batch]
                vectors[places] = self._embedder.encode(texts)
                rows = [{"topic": chunk.topic, "passage": text} for chunk, text in zip(batch, texts, strict=True)]
                judged = self._head.batch(rows, vectors[places]) if self._head else []
                with self._changed:
                    self._verdicts |= {
                        chunk.chunk_id: verdict(each) for chunk, each in zip(batch, judged, strict=False)
                    }
                    self._changed.notify_all()
            write_vectors(self._folder, vectors)
            self._store.set_meta("chunk_verdicts", self._verdicts)
            index = Index(vectors, chunks, self._embedder)
            with self._changed:
                self._index = index
                self._changed.notify_all()
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            with self._changed:
                self._error = error
                self._changed.notify_all()
