"""What is compared: retrievers, each an embedder over documents that are cut in one way."""

from collections.abc import Sequence
from dataclasses import dataclass

from groundset.corpus import CHUNKERS, CorpusOptions
from groundset.corpus.user_chunks import CHUNK_SUFFIXES
from groundset.engine.config import RunConfig
from groundset.options import ChunkerName
from programs.errors import InputError

_CHARACTERS = {"characters": 1, "words": 5, "tokens": 4}  # of one unit, at least, in European text
_SHORTEST = 5  # what is shorter than a fifth of the size is joined to its neighbour, as by default in a run


@dataclass(frozen=True)
class RetrieverConfig:
    """An embedder and a way to cut documents.

    Attributes:
        embedder: its name.
        options: how documents are cut; None for chunks that the user brought.
    """

    embedder: str
    options: CorpusOptions | None

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
    config: RunConfig, embedders: Sequence[str], chunkers: Sequence[str], sizes: Sequence[int], *, mixed: bool = False
) -> list[RetrieverConfig]:
    """Return the run's own retriever and, after it, every other combination of embedder, chunker and chunk size.

    What is not named is as in the run. A chunker without a size has the run's if it is the run's chunker, else its
    default. The overlap keeps its share of the size.

    Raises:
        InputError: there is no such chunker.
    """
    own, options = own_retriever(config, mixed=mixed), config.corpus_options()
    for name in chunkers:
        if name not in CHUNKERS:
            raise InputError(f"--chunker {name}: no such chunker; choose from {', '.join(CHUNKERS)}")
    cuts = [own.options]
    if chunkers or sizes:
        cuts = [
            _cut_again(options, name, size)
            for name in [known for name in chunkers for known in CHUNKERS if known == name] or (options.chunker,)
            for size in sizes or (options.size if name == options.chunker else CHUNKERS[name].default_size,)
        ]
    named = (RetrieverConfig(embedder, cut) for embedder in embedders or (own.embedder,) for cut in cuts)
    return list(dict.fromkeys((own, *named)))


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
