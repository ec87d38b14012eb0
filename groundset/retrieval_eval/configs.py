"""Retriever configurations: a retriever, its embedder and chunking options."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from groundset.corpus.chunkers import CHUNKERS
from groundset.corpus.corpus import CorpusOptions
from groundset.corpus.user_chunks import CHUNK_SUFFIXES
from groundset.engine.config import RunConfig
from groundset.options import ChunkerName
from groundset.retrieval_eval.existing import EXISTING_STORES
from groundset.retrieval_eval.existing.base import ExistingStore
from groundset.retrieval_eval.retrievers import RETRIEVERS
from programs.errors import InputError

_CHARACTERS = {"characters": 1, "words": 5, "tokens": 4}  # lower bound per unit, in European languages
DENSE = "dense"  # the retriever of runs
RETRIEVER_FORMS = (*RETRIEVERS, *(f"{kind.name}:{kind.location}" for kind in EXISTING_STORES.values()))
_SHORTEST = 5  # minimum length is a fifth of the size, as by default in a run


@dataclass(frozen=True)
class RetrieverConfig:
    """A retriever with chunking options.

    Attributes:
        embedder: name; empty for a retriever without embeddings.
        options: chunking options; None for user-supplied chunks.
        retriever: its name in ``RETRIEVERS``, the kind and location of an existing store, or the name of the file of a
            ranking.
        ranking: a file in which another system ranked the chunks of the run.
        reranker: the name of the cross-encoder that reranks its first chunks; empty without one.
    """

    embedder: str
    options: CorpusOptions | None
    retriever: str = DENSE
    ranking: Path | None = None
    reranker: str = ""

    @property
    def store(self) -> ExistingStore | None:
        """Return the kind of its existing store, None if it searches the run's chunks itself."""
        return None if self.ranking else EXISTING_STORES.get(self.retriever.partition(":")[0])

    @property
    def location(self) -> str:
        """Return the location of its existing store."""
        return self.retriever.partition(":")[2]

    @property
    def chunker(self) -> str:
        """Return the name of the chunker."""
        return self.options.chunker if self.options else "own chunks"

    @property
    def size(self) -> str:
        """Return the chunk size with its unit; empty for user-supplied chunks."""
        return f"{self.options.size} {CHUNKERS[self.options.chunker].unit}" if self.options else ""


def own_retriever(config: RunConfig, *, mixed: bool = False) -> RetrieverConfig:
    """Return the retriever of a run; ``mixed`` if its chunks were made with several configurations."""
    user_supplied = mixed or any(path.suffix.lower() in CHUNK_SUFFIXES for path in config.sources)
    return RetrieverConfig(config.embedder, None if user_supplied else config.corpus_options())


def retriever_configs(
    config: RunConfig,
    embedders: Sequence[str],
    chunkers: Sequence[str],
    sizes: Sequence[int],
    *,
    retrievers: Sequence[str] = (),
    rankings: Sequence[Path] = (),
    rerankers: Sequence[str] = (),
    mixed: bool = False,
) -> list[RetrieverConfig]:
    """Return the run's own retriever, every other combination of retriever, embedder, chunker and size, and rankings.

    Existing stores and rankings hold the run's chunks. All of these follow again with each reranker. Missing values
    default to those of the run; the size of another chunker defaults to its own default size. The ratio of overlap to
    size stays the same.

    Raises:
        InputError: there is no such chunker or retriever, or the location of an existing store is wrong.
    """
    own, options = own_retriever(config, mixed=mixed), config.corpus_options()
    for name in chunkers:
        if name not in CHUNKERS:
            raise InputError(f"--chunker {name}: unknown chunker; choose from {', '.join(CHUNKERS)}")
    for name in retrievers:
        kind, _, location = name.partition(":")
        if kind in EXISTING_STORES:
            EXISTING_STORES[kind].check(location)
        elif name not in RETRIEVERS:
            raise InputError(f"--retriever {name}: unknown retriever; choose from {', '.join(RETRIEVER_FORMS)}")
    cuts = [own.options]
    if chunkers or sizes:
        cuts = [
            _cut_again(options, name, size)
            for name in [known for name in chunkers for known in CHUNKERS if known == name] or (options.chunker,)
            for size in sizes or (options.size if name == options.chunker else CHUNKERS[name].default_size,)
        ]
    named = [
        RetrieverConfig(embedder, cut, name)
        for name in retrievers or (DENSE,)
        for embedder in (("",) if name in RETRIEVERS and not RETRIEVERS[name].embeds else embedders or (own.embedder,))
        for cut in (cuts if name in RETRIEVERS else (own.options,))
    ]
    ranked = [RetrieverConfig("", own.options, file.name, file) for file in rankings]
    found = list(dict.fromkeys((own, *named, *ranked)))
    return found + [replace(config, reranker=reranker) for reranker in rerankers for config in found]


def _cut_again(options: CorpusOptions, chunker: ChunkerName, size: int) -> CorpusOptions:
    if (chunker, size) == (options.chunker, options.size):
        return options
    return options.model_copy(
        update={
            "chunker": chunker,
            "chunk_size": size,
            "chunk_overlap": size * options.chunk_overlap // options.size,
            "min_length": min(options.min_length, size * _CHARACTERS[CHUNKERS[chunker].unit] // _SHORTEST),
        }
    )
