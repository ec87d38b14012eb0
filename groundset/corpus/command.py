"""`groundset chunk`: cut documents into chunks."""

from contextlib import ExitStack
from pathlib import Path

from groundset.corpus.corpus import Corpus, read_corpus
from groundset.corpus.find import find_documents
from groundset.corpus.options import CorpusOptions
from groundset.corpus.parsing import SUFFIXES
from groundset.files import check_target, is_stream, json_line, whole_file
from groundset.options import DEFAULT_EMBEDDER, option
from groundset.printing import say
from programs.errors import InputError

_NAMED_FILES = 20


class CutOptions(CorpusOptions):
    """Cut documents into chunks, without a language model."""

    embedder: str = option(DEFAULT_EMBEDDER, "The model of the semantic and the token chunker.", metavar="MODEL")
    engine: str = option("local", "Where files are read: local, ray, or ray=ADDRESS.")


class ChunkOptions(CutOptions):
    """Cut documents into chunks, without a language model.

    The texts of the documents are written beside the chunks, to FILE.docs.jsonl; each chunk is its document's text from
    `start` to `end`. With `--out -` only the chunks are written, to standard output.
    """

    out: Path = option(..., "The file of the chunks; - for standard output.", metavar="FILE.jsonl")


def cut(options: CutOptions) -> Corpus:
    """Cut the documents and return them with their chunks; each skipped file is named on standard error.

    Raises:
        InputError: there are no chunks.
    """
    lines: list[str] = []
    corpus = read_corpus(options, notify=lines.append, engine=options.engine)
    for line in lines[:_NAMED_FILES]:
        say(line, err=True)
    if len(lines) > _NAMED_FILES:
        say(f"and {len(lines) - _NAMED_FILES} more", err=True)
    return corpus


def chunk(options: ChunkOptions) -> None:
    """Cut the documents, write the chunks and print the counts."""
    corpus = chunk_documents(options)
    dropped = f"dropped: {corpus.dropped['too short']} too short, {corpus.dropped['copies']} copies"
    counts = f"{len(corpus.chunks)} chunks from {len(corpus.documents)} documents"
    say(f"{counts} ({dropped}; skipped files: {len(corpus.skipped)}).", err=is_stream(options.out))


def chunk_documents(options: ChunkOptions) -> Corpus:
    """Cut the documents, write the chunks to ``out`` and the texts of the documents beside it, and return them.

    Raises:
        InputError: there are no chunks, or a file cannot be written.
    """
    out = options.out
    # FILE.docs.jsonl for FILE.jsonl; chunks on a stream are without them.
    targets = [out] if is_stream(out) else [out, out.with_name(f"{out.name.removesuffix('.jsonl')}.docs.jsonl")]
    found, _ = find_documents(options.documents)
    read = [options.chunks, *(file for file, _ in found if file.suffix.lower() in SUFFIXES)]
    for target in targets:
        check_target(target)
        if target.resolve() in {path.resolve() for path in read if path}:
            raise InputError(f"--out {out}: would replace {target}, which is read; name another file")
    corpus = cut(options)
    chunks = (each.model_dump(mode="json", exclude=None if each.metadata else {"metadata"}) for each in corpus.chunks)
    texts = (each.model_dump(include={"doc_id", "path", "title", "text"}) for each in corpus.documents.values())
    # Both are written completely before either takes its name; chunks never exist without their documents.
    with ExitStack() as stack:
        for target, rows in zip(targets, (chunks, texts), strict=False):
            with stack.enter_context(whole_file(target)).open("w", encoding="utf-8", newline="\n") as stream:
                stream.writelines(map(json_line, rows))
    return corpus
