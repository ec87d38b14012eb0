"""`groundset chunk`: cut documents into chunks."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from groundset.corpus.corpus import Corpus, read_corpus
from groundset.corpus.options import CorpusOptions
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


def chunk(options: ChunkOptions) -> None:
    """Cut the documents, write the chunks and print the counts."""
    corpus = chunk_documents(options)
    short, copies = corpus.dropped["too short"], corpus.dropped["copies"]
    say(
        f"{len(corpus.chunks)} chunks from {len(corpus.documents)} documents (dropped: {short} too short, {copies} "
        f"copies; skipped files: {len(corpus.skipped)}).",
        err=is_stream(options.out),
    )


def chunk_documents(options: ChunkOptions) -> Corpus:
    """Cut the documents, write the chunks to ``out`` and the texts of the documents beside it, and return them.

    Raises:
        InputError: there are no chunks, or a file cannot be written.
    """
    docs = None if is_stream(options.out) else documents_path(options.out)
    for written in filter(None, (options.out, docs)):
        check_target(written)
        if any(written.resolve() == path.resolve() for path in (*options.documents, options.chunks) if path):
            raise InputError(f"--out {options.out}: is one of the documents")
    corpus = cut(options)
    rows = (each.model_dump(mode="json", exclude=None if each.metadata else {"metadata"}) for each in corpus.chunks)
    texts = (each.model_dump(include={"doc_id", "path", "title", "text"}) for each in corpus.documents.values())
    # Both are written completely before either takes its name; chunks never exist without their documents.
    with ExitStack() as stack:
        targets: list[tuple[Path | None, Iterator[dict[str, Any]]]] = [(options.out, rows), (docs, texts)]
        for target, content in targets:
            if target is not None:
                stream = stack.enter_context(whole_file(target)).open("w", encoding="utf-8", newline="\n")
                with stream:
                    stream.writelines(map(json_line, content))
    return corpus


def cut(options: CutOptions) -> Corpus:
    """Cut documents into chunks, without a language model; the corpus has ``chunks``, ``documents`` and ``skipped``.

    Raises:
        InputError: a document or an option is wrong, or there are no chunks.
    """
    lines: list[str] = []

    def notify(line: str) -> None:
        lines.append(line)
        if len(lines) <= _NAMED_FILES:
            say(line, err=True)

    corpus = read_corpus(options, notify=notify, engine=options.engine)
    if len(lines) > _NAMED_FILES:
        say(f"and {len(lines) - _NAMED_FILES} more lines of this kind", err=True)
    return corpus


def documents_path(out: Path) -> Path:
    """Return the path of the document texts of a chunk file: ``FILE.docs.jsonl`` for ``FILE.jsonl``."""
    return out.with_name(f"{out.stem if out.suffix == '.jsonl' else out.name}.docs.jsonl")
