"""`groundset chunk`: split documents into chunks."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from groundset.commands.declare import Command, Engine, NewFile
from groundset.commands.output.targets import check_out, name_of, note
from groundset.options import DEFAULT_EMBEDDER, ChunkingOptions, CommandOptions, option
from groundset.printing import say
from groundset.sources import Source

if TYPE_CHECKING:
    from groundset.corpus.corpus import Corpus

_NAMED_FILES = 20


class CutOptions(ChunkingOptions, CommandOptions):
    """Split documents into chunks, without a language model."""

    docs: tuple[Source, ...] = option(
        ..., "Files, folders or globs, or their URLs: txt, md, html, pdf, docx and more.", metavar="DOCS", argument=True
    )
    merge: int = option(1, "Join this many consecutive chunks.", ge=1)
    min_length: int = option(200, "Drop shorter chunks, in characters.", ge=0)
    embedder: str = option(DEFAULT_EMBEDDER, "Embedding model of the semantic and the token chunker.", metavar="MODEL")
    engine: Engine

    @property
    def chunking(self) -> dict[str, Any]:
        """Return the chunking options by name."""
        return {name: getattr(self, name) for name in ChunkingOptions.model_fields}


class ChunkOptions(CutOptions):
    """Split documents into chunks, without a language model.

    The document texts are written beside the chunks, to FILE.docs.jsonl; each chunk is its document's text from
    `start` to `end`. With `--out -` only the chunks are written, to standard output.
    """

    out: NewFile = option(..., "File for the chunks; - for standard output.", metavar="FILE.jsonl")


def chunk(options: ChunkOptions) -> None:
    """Split the documents, write the chunks and print the counts."""
    from groundset.corpus.corpus import documents_path, write_chunks
    from groundset.corpus.files import find_documents
    from groundset.corpus.parsing.formats import SUFFIXES
    from groundset.engine.chunking import cut_corpus

    out = options.out
    read = [found.file for found in find_documents(options.docs).files if found.file.suffix.lower() in SUFFIXES]
    inputs = [file for file in (*options.docs, *read) if isinstance(file, Path)]
    check_out(out, inputs, documents_path(out))
    corpus = cut_corpus(options.docs, options.chunking, options.embedder, options.engine)
    chunks_file, documents_file = write_chunks(corpus, out)
    _report(corpus, out)
    texts = documents_file or "not written to standard output"
    note(f"Chunks: {name_of(chunks_file)}. Document texts: {texts}.", out)


def _report(corpus: "Corpus", out: Path) -> None:
    counts = corpus.counts
    for skipped in corpus.skipped[:_NAMED_FILES]:
        say(f"Skipped {skipped.path}: {skipped.reason}.", err=True)
    if len(corpus.skipped) > _NAMED_FILES:
        say(f"Skipped {len(corpus.skipped) - _NAMED_FILES} more files.", err=True)
    note(
        f"{counts.chunks} chunks from {counts.documents} documents "
        f"(dropped: {counts.dropped_short} too short, {counts.dropped_duplicates} duplicates; "
        f"skipped files: {counts.skipped}).",
        out,
    )


COMMAND = Command("chunk", ChunkOptions, chunk, rank=1)
