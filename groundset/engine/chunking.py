"""Cut documents into chunks, without a run."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from groundset.corpus.corpus import Corpus


def cut_corpus(paths: Sequence[str | Path], given: Mapping[str, Any], embedder: str, engine: str = "local") -> "Corpus":
    """Read files, folders and globs, and chunk them; ``given`` are fields of :class:`groundset.corpus.CorpusOptions`,
    and ``engine`` names an executor.

    Raises:
        InputError: a document or an option is wrong.
        ModelError: the embedder cannot be loaded; only the semantic and the token chunker need it.
    """
    from groundset.corpus.corpus import CorpusOptions, build_corpus
    from groundset.executors import open_executor

    options = CorpusOptions(**given)
    embed = tokenizer = None
    if options.chunker in ("semantic", "token"):
        from groundset.retrieval.embedder import load_embedder

        model = load_embedder(embedder)
        embed, tokenizer = model.encode, model.tokenizer
    with open_executor(engine) as executor:
        return build_corpus(paths, options, embed=embed, tokenizer=tokenizer, executor=executor)
