"""The options of a corpus: which documents, and how they are cut into chunks; and `groundset
chunk`.
"""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import BeforeValidator, PlainValidator, model_validator

from groundset.corpus.find import find_documents
from groundset.corpus.parsing import SUFFIXES
from groundset.files import check_target, is_stream, json_line, whole_text
from groundset.options import DEFAULT_EMBEDDER, Options, named, option
from groundset.printing import say
from groundset.programs.errors import InputError

if TYPE_CHECKING:
    from groundset.corpus.corpus import Corpus


def _parse_columns(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    pairs = [part.partition("=") for part in value.split(",")]
    named = {role.strip(): name.strip() for role, _, name in pairs}
    if named.keys() != {"question", "answer"} or not all(named.values()):
        raise ValueError("name both, such as question=Subject,answer=Resolution")
    return named


_Columns = Annotated[dict[str, str], BeforeValidator(_parse_columns)]
ChunkerName = Literal["recursive", "sentence", "word", "token", "semantic"]
_SIZES = {"word": 200, "token": 256}


def parse_readers(given: Any) -> Any:
    """Return the names of functions by suffix, of a text such as ``.xyz=package.module:name``, or
    of a mapping to functions.

    Raises:
        ValueError: it has another form, or a function that no other process can import.
    """
    if isinstance(given, str):
        pairs = [part.partition("=")[::2] for part in given.split(",")]
    else:
        pairs = [(suffix, named(function)) for suffix, function in dict(given).items()]
    for suffix, name in pairs:
        module, _, function = name.partition(":")
        if not (suffix.startswith(".") and module and function):
            raise ValueError("write .SUFFIX=package.module:name")
        if module == "__main__" or "<" in function:
            raise ValueError(
                f"{function}: files are read in other processes, so it must stand at the top of a"
                " module that they can import"
            )
    return {suffix.lower(): str(name) for suffix, name in pairs}


Readers = Annotated[
    dict[str, str], PlainValidator(parse_readers), "Mapping[str, Callable[[bytes], str]]"
]


class CorpusOptions(Options):
    """Which documents are read, and how they are cut."""

    documents: tuple[Path, ...] = option(
        (),
        "Files, folders or globs: txt, md, html, pdf, docx and more.",
        metavar="DOCS",
        argument=True,
        free=True,
        private=True,
    )
    exclude: tuple[str, ...] = option(
        (), "Leave out by name or path below DOCS: drafts, '*.log'.", metavar="GLOB", free=True
    )
    chunks: Path | None = option(
        None,
        "Your own chunks: JSON lines or parquet with doc_id and contents.",
        metavar="FILE",
        free=True,
        private=True,
    )
    chunker: ChunkerName = option("recursive", "How documents are cut.", cuts=True)
    chunk_size: int | None = option(
        None,
        "Size in characters (recursive, sentence, semantic), words (word) or tokens (token).",
        shown="1000 characters, 200 words, 256 tokens",
        ge=1,
        cuts=True,
    )
    chunk_overlap: int = option(
        0, "Overlap of neighbouring chunks, in the same unit.", ge=0, cuts=True
    )
    merge: int = option(1, "Join this many consecutive chunks.", ge=1, cuts=True)
    min_length: int = option(100, "Drop shorter chunks, in characters.", ge=0, cuts=True)
    readers: Readers = option(
        {},
        "Your own reader of a format: a function of the bytes of a file that returns Markdown.",
        metavar=".SUFFIX=MODULE:NAME,...",
    )
    columns: _Columns = option(
        {},
        "The columns of .csv and .tsv files that hold questions and answers, where their names do"
        " not say so: question=Subject,answer=Resolution.",
        metavar="question=NAME,answer=NAME",
        cuts=True,
        private=True,
    )
    verbose: bool = option(
        False, "Name what is left out, and print a local model's log.", short="-v", free=True
    )

    @model_validator(mode="after")
    def _check_overlap(self) -> Self:
        if self.chunk_overlap >= self.cut_size:
            raise ValueError(
                f"--chunk-overlap {self.chunk_overlap}: must be less than the chunk size"
                f" ({self.cut_size})"
            )
        return self

    @property
    def cut_size(self) -> int:
        """Return the chunk size, by default the chunker's."""
        return self.chunk_size or _SIZES.get(self.chunker, 1000)


class CutOptions(CorpusOptions):
    """Cut documents into chunks, without a language model."""

    embedder: str = option(
        DEFAULT_EMBEDDER, "The model of the semantic and the token chunker.", metavar="MODEL"
    )
    engine: str = option("local", "Where files are read: local, ray, or ray=ADDRESS.")


class ChunkOptions(CutOptions):
    """Cut documents into chunks, without a language model.

    The texts of the documents are written beside the chunks, to FILE.docs.jsonl; each chunk is its
    document's text from `start` to `end`. With `--out -` only the chunks are written, to standard
    output.
    """

    out: Path = option(..., "The file of the chunks; - for standard output.", metavar="FILE.jsonl")


def cut(options: CutOptions) -> "Corpus":
    """Cut the documents and return them with their chunks; what is skipped is named on standard
    error.

    Raises:
        InputError: there are no chunks.
    """
    from groundset.corpus.corpus import read_corpus

    return read_corpus(options, notify=lambda line: say(line, err=True), engine=options.engine)


def chunk(options: ChunkOptions) -> None:
    """Cut the documents, write the chunks and the texts of the documents beside them, and print the
    counts.

    Raises:
        InputError: there are no chunks, or a file cannot be written.
    """
    out = options.out
    # FILE.docs.jsonl for FILE.jsonl; chunks on a stream are without them.
    targets = [out]
    if not is_stream(out):
        targets.append(out.with_name(f"{out.name.removesuffix('.jsonl')}.docs.jsonl"))
    found, _ = find_documents(options.documents, options.exclude)
    known = {*SUFFIXES, *options.readers}
    read = [options.chunks, *(file for file, _ in found if file.suffix.lower() in known)]
    for target in targets:
        check_target(target)
        if target.resolve() in {path.resolve() for path in read if path}:
            raise InputError(
                f"--out {out}: would replace {target}, which is read; name another file"
            )
    corpus = cut(options)
    chunks = (
        each.model_dump(mode="json", exclude=None if each.metadata else {"metadata"})
        for each in corpus.chunks
    )
    texts = (
        each.model_dump(include={"doc_id", "path", "title", "text"})
        for each in corpus.documents.values()
    )
    # Both are written completely before either takes its name; chunks never exist without their
    # documents.
    with ExitStack() as stack:
        for target, rows in zip(targets, (chunks, texts), strict=False):
            stack.enter_context(whole_text(target)).writelines(map(json_line, rows))
    dropped = f"dropped: {corpus.dropped['too short']} too short, {corpus.dropped['copies']} copies"
    counts = f"{len(corpus.chunks)} chunks from {len(corpus.documents)} documents"
    say(f"{counts} ({dropped}; skipped files: {len(corpus.skipped)}).", err=is_stream(out))
