"""What is compared: retrievers, each with an embedder if it takes one, over documents that are cut in one way."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from groundset.corpus import CHUNKERS, CorpusOptions
from groundset.corpus.user_chunks import CHUNK_SUFFIXES
from groundset.engine.config import RunConfig
from groundset.options import ChunkerName
from groundset.retrieval_eval.retrievers import RETRIEVERS
from programs.errors import InputError

_CHARACTERS = {"characters": 1, "words": 5, "tokens": 4}  # of one unit, at least, in European text
DENSE = "dense"  # the retriever of every run
_SHORTEST = 5  # what is shorter than a fifth of the size is joined to its neighbour, as by default in a run


@dataclass(frozen=True)
class RetrieverConfig:
    """A retriever and a way to cut documents.

    Attributes:
        embedder: its name; empty for a retriever without one.
        options: how documents are cut; None for chunks that the user brought.
        retriever: its name in ``RETRIEVERS``, or the name of the file of a ranking.
        ranking: a file that another system ranked the chunks of the run in.
    """

    embedder: str
    options: CorpusOptions | None
    retriever: str = DENSE
    ranking: Path | None = None

    @property
    def chunker(self) -> str:
        """Return the chunker's name."""
        return self.options.chunker if self.options else "own chunks"

    @property
    def size(self) -> str:
        """Return the size of the chunks with its unit, or nothing for chunks that the user brought."""
        return f"{self.options.size} {CHUNKERS[self.options.chunker].unit}" if self.options else ""


def own_retriever(config: RunConfig, *, mixed: bool = False) -> RetrieverConfig:
    """Return the retriever of a run; ``mixed`` says that its chunks were cut in several ways."""
    brought = mixed or any(path.suffix.lower() in CHUNK_SUFFIXES for path in config.sources)
    return RetrieverConfig(config.embedder, None if brought else config.corpus_options())


def retriever_configs(
    config: RunConfig,
    embedders: Sequence[str],
    chunkers: Sequence[str],
    sizes: Sequence[int],
    *,
    retrievers: Sequence[str] = (),
    rankings: Sequence[Path] = (),
    mixed: bool = False,
) -> list[RetrieverConfig]:
    """Return the run's own retriever and, after it, every other combination of retriever, embedder, chunker and size.

    What is not named is as in the run. A chunker without a size has the run's if it is the run's chunker, else its
    default. The overlap keeps its share of the size. Rankings of other systems come last.

    Raises:
        InputError: there is no such chunker or retriever.
    """
    own, options = own_retriever(config, mixed=mixed), config.corpus_options()
    for name in chunkers:
        if name not in CHUNKERS:
            raise InputError(f"--chunker {name}: no such chunker; choose from {', '.join(CHUNKERS)}")
    for name in retrievers:
        if name not in RETRIEVERS:
            raise InputError(f"--retriever {name}: no such retriever; choose from {', '.join(RETRIEVERS)}")
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
        for embedder in ((embedders or (own.embedder,)) if RETRIEVERS[name].embeds else ("",))
        for cut in cuts
    ]
    ranked = [RetrieverConfig("", own.options, file.name, file) for file in rankings]
    return list(dict.fromkeys((own, *named, *ranked)))


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
