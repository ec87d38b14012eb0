"""Documents to chunks, and nothing more."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groundset.options import DEFAULT_EMBEDDER, for_python, paths_of, wrong_options
from programs.types import Chunk, Document

if TYPE_CHECKING:
    from groundset.corpus import Corpus, SkippedFile


class Chunks(list[Chunk]):
    """A list of chunks.

    Attributes:
        documents: by id the documents that they were cut from: the text of a chunk is its document's from ``start`` to
            ``end``.
        skipped: files that did not become a document, each with the reason.
    """

    def __init__(
        self, chunks: Iterable[Chunk], documents: Iterable[Document], skipped: Iterable["SkippedFile"]
    ) -> None:
        """Keep the chunks of some documents."""
        super().__init__(chunks)
        self.documents: dict[str, Document] = {document.doc_id: document for document in documents}
        self.skipped = list(skipped)


@for_python
def chunk(
    docs: str | Path | Iterable[str | Path],
    *,
    chunker: str = "recursive",
    chunk_size: int | None = None,
    chunk_overlap: int = 0,
    merge: int = 1,
    min_length: int = 200,
    embedder: str = DEFAULT_EMBEDDER,
) -> Chunks:
    """Cut documents into chunks, without a language model.

    Args:
        docs: a file, folder or glob, or several of them.
        chunker: how documents are cut: recursive, sentence, word, token or semantic.
        chunk_size: size of a chunk in the chunker's unit; by default 1000 characters for recursive, sentence and
            semantic, 200 words for word, 256 tokens for token.
        chunk_overlap: how much of its size a chunk shares with the one before.
        merge: join this many consecutive chunks.
        min_length: drop chunks with fewer characters.
        embedder: the embedding model of the semantic and the token chunker.

    Raises:
        InputError: a document or an option is wrong; the message names it.
    """
    given = {
        "chunker": chunker,
        "chunk_size": chunk_size,
        "chunk_overlap": chunk_overlap,
        "merge": merge,
        "min_length": min_length,
    }
    corpus = cut_corpus(paths_of("documents", docs), given, embedder)
    return Chunks(corpus.chunks, corpus.documents, corpus.skipped)


def cut_corpus(paths: Sequence[str | Path], given: Mapping[str, Any], embedder: str) -> "Corpus":
    """Read files, folders and globs, and cut them; ``given`` are fields of :class:`groundset.corpus.CorpusOptions`.

    Raises:
        InputError: a document or an option is wrong.
        ModelError: the embedder cannot be loaded; only the semantic and the token chunker need it.
    """
    from pydantic import ValidationError

    from groundset.corpus import CorpusOptions, build_corpus

    try:
        options = CorpusOptions(**given)
    except ValidationError as error:
        raise wrong_options(error, given, "--chunk-overlap") from error
    embed = tokenizer = None
    if options.chunker in ("semantic", "token"):
        from groundset.retrieval.embedder import load_embedder

        model = load_embedder(embedder)
        embed, tokenizer = model.encode, model.tokenizer.backend_tokenizer
    return build_corpus(paths, options, embed=embed, tokenizer=tokenizer)
