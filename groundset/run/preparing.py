"""What comes before the first attempt: which chunks are asked about, and their embeddings, once for
a run.
"""

from threading import Event

import numpy as np

from groundset.corpus.corpus import Corpus
from groundset.corpus.prepare import embedded
from groundset.printing import Progress
from groundset.programs.types import Chunk
from groundset.retrieval.embed import Embedder
from groundset.retrieval.index import Index
from groundset.run.options import GenerateOptions
from groundset.run.run import read_vectors, write_vectors
from groundset.run.store import Store


def askable(corpus: Corpus, options: GenerateOptions) -> list[Chunk]:
    """Return the chunks that are asked about: no copies, and of your own those of some length if
    all are to be.
    """
    shortest = options.min_length if options.row.size is None else 0
    return [
        chunk
        for chunk in map(corpus.chunks.__getitem__, corpus.order(options.seed))
        if "copy_of" not in chunk.metadata and len(chunk.text) >= shortest
    ]


def prepared(
    corpus: Corpus,
    embedder: Embedder,
    engine: str,
    store: Store,
    progress: Progress,
    stopped: Event,
) -> Index:
    """Return the search of all chunks, which are embedded unless an earlier process has.

    If the run is ``stopped`` meanwhile, the search is good for nothing, and the next process embeds
    them.
    """
    folder, count = store.path.parent, len(corpus.chunks)
    if store.meta("prepared"):
        return Index(read_vectors(folder, count), corpus.chunks, embedder)
    vectors = np.zeros((count, embedder.dimension), dtype=np.float32)
    done = 0
    for batch in embedded(corpus, embedder, engine=engine):
        if stopped.is_set():
            break
        vectors[done : done + len(batch)] = batch
        done += len(batch)
        progress.advance(len(batch))
    else:
        write_vectors(folder, vectors)
        store.set_meta("prepared", True)
    return Index(vectors, corpus.chunks, embedder)
