"""Build a corpus from files, folders and globs: read, chunk, drop duplicates and write."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from tokenizers import Tokenizer

from groundset.corpus.chunkers import CHUNKERS, ChunkingTools, Embed
from groundset.corpus.chunks import chunk_document
from groundset.corpus.documents import no_documents_error, read_documents
from groundset.corpus.duplicates import drop_duplicates
from groundset.corpus.files import SkippedFile, find_documents
from groundset.corpus.user_chunks import chunk_files, names_chunks, read_user_chunks
from groundset.executors import LOCAL, Executor
from groundset.files import is_stream, json_line, whole_file
from groundset.options import ChunkingOptions
from programs.errors import InputError
from programs.types import Chunk, Document

_CHARACTERS_PER_PROCESS = 4 << 20  # cutting them takes longer than starting a process


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class CorpusOptions(ChunkingOptions):
    """Options for chunking documents.

    ``chunk_size`` and ``chunk_overlap`` are in the chunker's unit (characters; words for ``word``; tokens for
    ``token``); the default size is the chunker's. Two chunks are duplicates if they share at least
    ``duplicate_threshold`` of their three-word sequences: 1 drops only exact duplicates, None keeps all.
    """

    merge: int = Field(default=1, ge=1)
    min_length: int = Field(default=200, ge=0)
    duplicate_threshold: float | None = Field(default=0.85, gt=0, le=1)

    @property
    def size(self) -> int:
        """Return the chunk size, by default the chunker's."""
        return self.chunk_size or CHUNKERS[self.chunker].default_size

    @model_validator(mode="after")
    def _check_overlap(self) -> Self:
        if self.chunk_overlap >= self.size:
            raise InputError(f"--chunk-overlap {self.chunk_overlap}: must be smaller than the chunk size ({self.size})")
        return self


class Counts(_Frozen):
    """Counts at each stage; ``files`` includes skipped ones."""

    files: int
    documents: int
    chunks: int
    skipped: int = 0
    dropped_short: int = 0
    dropped_duplicates: int = 0


class Corpus(_Frozen):
    """Documents, their chunks and the skipped files."""

    documents: tuple[Document, ...]
    chunks: tuple[Chunk, ...]
    skipped: tuple[SkippedFile, ...] = ()
    counts: Counts


@dataclass(frozen=True)
class _Cutter:
    """Splits a document into chunks; can be sent to another process."""

    options: CorpusOptions
    tools: ChunkingTools

    def __call__(self, document: Document) -> tuple[list[Chunk], int]:
        """Return the chunks, and how many were dropped as too short."""
        options = self.options
        chunker = CHUNKERS[options.chunker]
        return chunk_document(
            document, chunker, options.size, options.chunk_overlap, options.merge, options.min_length, self.tools
        )


@dataclass(frozen=True)
class _CutDocuments:
    """An operator that splits documents into chunks."""

    cutter: _Cutter

    @contextmanager
    def load(self) -> Iterator[_Cutter]:
        """Yield the function that splits a document."""
        yield self.cutter

    def name(self, item: Document) -> str:
        """Return the path of a document."""
        return item.path


class ChunkingResult(NamedTuple):
    """Chunks, and how many were dropped as too short and as duplicates."""

    chunks: list[Chunk]
    dropped_short: int
    dropped_duplicates: int


def build_corpus(
    paths: Sequence[str | Path],
    options: CorpusOptions | None = None,
    *,
    embed: Embed | None = None,
    tokenizer: Tokenizer | None = None,
    on_file: Callable[[str], None] | None = None,
    known: Iterable[Document] = (),
    executor: Executor = LOCAL,
) -> Corpus:
    """Read files, folders and globs, also as URLs, into documents, and split them into chunks.

    The chunks of a ``.jsonl`` or ``.parquet`` file in ``paths`` are used unchanged. The semantic chunker needs
    ``embed``, the token chunker ``tokenizer``. ``on_file`` is called with each path before the file is read. Files
    whose content is that of a ``known`` document of the same path are not parsed again. The result does not depend on
    ``known`` and ``executor``.
    """
    options = options or CorpusOptions()
    is_semantic = options.chunker == "semantic"
    own = [path for path in paths if names_chunks(path)]
    own_files = chunk_files(own)
    others = [path for path in paths if path not in own]
    documents: list[Document] = []
    chunks: list[Chunk] = []
    skipped: list[SkippedFile] = []
    files = len(own_files)
    dropped_short = dropped_duplicates = 0
    if others or not own_files:
        found = find_documents(others)
        cutter = _Cutter(options, ChunkingTools(embed if is_semantic else None, tokenizer))
        reading = read_documents(
            found.files,
            on_file,
            cut=cutter,
            known={document.path: document for document in known if document.source_digest},
            executor=executor,
            one_process=is_semantic,
        )
        skipped = [*found.skipped, *reading.skipped]
        files += len(found.files)
        if not reading.documents and not own_files:
            raise no_documents_error(skipped)
        documents += reading.documents
        dropped_short = reading.dropped_short
        chunks, dropped_duplicates = _drop_duplicates(reading.chunks, options, executor)
    for file in own_files:
        user_chunks = read_user_chunks(file)
        documents += user_chunks.documents
        chunks += user_chunks.chunks
    _check_ids(documents, chunks)
    if not chunks:
        raise InputError(
            f"no chunk is left: all {dropped_short} are shorter than {options.min_length} characters; see --min-length"
        )
    counts = Counts(
        files=files,
        documents=len(documents),
        chunks=len(chunks),
        skipped=len(skipped),
        dropped_short=dropped_short,
        dropped_duplicates=dropped_duplicates,
    )
    return Corpus(documents=tuple(documents), chunks=tuple(chunks), skipped=tuple(skipped), counts=counts)


def cut_documents(
    documents: Sequence[Document],
    options: CorpusOptions,
    *,
    embed: Embed | None = None,
    tokenizer: Tokenizer | None = None,
    executor: Executor = LOCAL,
) -> ChunkingResult:
    """Split parsed documents into chunks; see :func:`build_corpus`."""
    cutter = _Cutter(options, ChunkingTools(embed, tokenizer))
    chunks: list[Chunk] = []
    short = 0
    parts = 1 + sum(len(document.text) for document in documents) / _CHARACTERS_PER_PROCESS
    most = 1 if options.chunker == "semantic" else None  # it uses all processors of this machine itself
    with closing(executor.map(_CutDocuments(cutter), documents, parts=parts, most=most)) as cuts:
        for found, dropped in cuts:
            chunks += found
            short += dropped
    kept, duplicates = _drop_duplicates(chunks, options, executor)
    return ChunkingResult(kept, short, duplicates)


def _drop_duplicates(chunks: Sequence[Chunk], options: CorpusOptions, executor: Executor) -> tuple[list[Chunk], int]:
    if options.duplicate_threshold is None:
        return list(chunks), 0
    return drop_duplicates(chunks, options.duplicate_threshold, executor)


def _check_ids(documents: Sequence[Document], chunks: Sequence[Chunk]) -> None:
    """Raise an ``InputError`` for an id that occurs in two files of chunks."""
    for kind, ids in (("document", [d.doc_id for d in documents]), ("chunk", [c.chunk_id for c in chunks])):
        seen: set[str] = set()
        for name in ids:
            if name in seen:
                raise InputError(f"{kind} id {name!r} occurs in two files; make ids unique")
            seen.add(name)


def write_chunks(corpus: Corpus, out: Path) -> tuple[Path, Path | None]:
    """Write the chunks to ``out`` and the documents' texts beside it; return both paths.

    Both files are written completely before either is renamed, so that old files survive a full disk or a kill.
    If ``out`` is a stream, the texts are omitted.

    Raises:
        InputError: a file cannot be written.
    """
    docs = None if is_stream(out) else documents_path(out)
    chunk_rows = (
        chunk.model_dump(mode="json", exclude=None if chunk.metadata else {"metadata"}) for chunk in corpus.chunks
    )
    document_rows = (
        {"doc_id": document.doc_id, "path": document.path, "title": document.title, "text": document.text}
        for document in corpus.documents
    )
    files: list[tuple[Path, Iterator[dict[str, Any]]]] = [(out, chunk_rows)]
    if docs:
        # The file entered last is renamed first, so chunks never exist without their documents.
        files.append((docs, document_rows))
    with ExitStack() as stack:
        for target, rows in files:
            with stack.enter_context(whole_file(target)).open("w", encoding="utf-8", newline="\n") as stream:
                stream.writelines(map(json_line, rows))
    return out, docs


def documents_path(out: Path) -> Path:
    """Return the path of the document texts of a chunk file: ``FILE.docs.jsonl`` for ``FILE.jsonl``."""
    return out.with_name(f"{out.stem if out.suffix == '.jsonl' else out.name}.docs.jsonl")
