"""`groundset chunk`: documents to chunks, and nothing more."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from groundset.commands.outputs import check_out, name_of, new_file, tell
from groundset.options import DEFAULT_EMBEDDER
from groundset.printing import say

if TYPE_CHECKING:
    from groundset.corpus import Corpus

ChunkerChoice = Literal["recursive", "sentence", "word", "token", "semantic"]
_CHUNKER_HELP = "How documents are cut: recursive, sentence, word, token or semantic."
_SIZE_HELP = (
    "Size of a chunk. Default: 1000 characters for recursive, sentence and semantic, 200 words for word, "
    "256 tokens for token."
)
_NAMED_FILES = 20


def chunk(
    docs: Annotated[
        list[str],
        typer.Argument(metavar="DOCS", help="Files, folders or globs: txt, md, html, pdf, docx and more."),
    ],
    out: Annotated[
        Path,
        typer.Option(
            metavar="FILE.jsonl",
            help="Where the chunks go; - is standard output.",
            show_default=False,
            callback=new_file,
        ),
    ],
    chunker: Annotated[ChunkerChoice, typer.Option(metavar="NAME", help=_CHUNKER_HELP)] = "recursive",
    chunk_size: Annotated[int | None, typer.Option(metavar="N", min=1, help=_SIZE_HELP, show_default=False)] = None,
    chunk_overlap: Annotated[
        int, typer.Option(metavar="N", min=0, help="How much of its size a chunk shares with the one before.")
    ] = 0,
    merge: Annotated[int, typer.Option(metavar="N", min=1, help="Join this many consecutive chunks.")] = 1,
    min_length: Annotated[int, typer.Option(metavar="N", min=0, help="Drop chunks with fewer characters.")] = 200,
    embedder: Annotated[
        str, typer.Option(metavar="MODEL", help="Embedding model of the semantic and the token chunker.")
    ] = DEFAULT_EMBEDDER,
) -> None:
    """Cut documents into chunks, without a language model.

    The parsed texts of the documents go beside the chunks, to FILE.docs.jsonl, and every chunk is exactly
    its document's text from `start` to `end`. With `--out -` the chunks go to standard output, alone.
    """
    from groundset.corpus import documents_path, find_documents, write_chunks
    from groundset.corpus.parsing.formats import SUFFIXES
    from groundset.engine.chunking import cut_corpus

    read = [found.file for found in find_documents(docs).files if found.file.suffix.lower() in SUFFIXES]
    check_out(out, [*map(Path, docs), *read], documents_path(out))
    given = {
        "chunker": chunker,
        "chunk_size": chunk_size,
        "chunk_overlap": chunk_overlap,
        "merge": merge,
        "min_length": min_length,
    }
    corpus = cut_corpus(docs, given, embedder)
    chunks_file, documents_file = write_chunks(corpus, out)
    _report(corpus, out)
    texts = documents_file or "left out, because they go beside a file"
    tell(f"Chunks: {name_of(chunks_file)}. Document texts: {texts}.", out)


def _report(corpus: "Corpus", out: Path) -> None:
    counts = corpus.counts
    for skipped in corpus.skipped[:_NAMED_FILES]:
        say(f"Skipped {skipped.path}: {skipped.reason}.", err=True)
    if len(corpus.skipped) > _NAMED_FILES:
        say(f"Skipped {len(corpus.skipped) - _NAMED_FILES} more files.", err=True)
    tell(
        f"{counts.chunks} chunks from {counts.documents} documents "
        f"(dropped: {counts.dropped_short} too short, {counts.dropped_duplicates} duplicates; "
        f"skipped files: {counts.skipped}).",
        out,
    )
