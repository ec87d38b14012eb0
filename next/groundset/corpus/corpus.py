"""The corpus: documents and their chunks, read from files, and stored with a run."""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from groundset.corpus.find import SkippedFile, find_documents
from groundset.corpus.options import CorpusOptions
from groundset.options import DEFAULT_EMBEDDER
from programs.errors import InputError, RunError
from programs.text import plain
from programs.types import Chunk, Document

if TYPE_CHECKING:
    from groundset.corpus.cutting.chunkers import Tools
    from groundset.retrieval.embed import Embedder

_FOLDER, _DOCUMENTS, _CHUNKS = "corpus", "documents.parquet", "chunks.parquet"
_AS_JSON = ("headings", "pages", "captions", "metadata")  # columns whose values have no fixed form
_BEFORE = 300  # characters
_MIN_LENGTH = 200
_NAMED_FILES = 5


@dataclass(repr=False)
class Corpus:
    """Documents by their ids, and chunks in the order of the documents.

    Attributes:
        skipped: the files that could not be read, and why.
        dropped: how many chunks were dropped, by reason.
    """

    documents: dict[str, Document]
    chunks: list[Chunk]
    skipped: list[SkippedFile] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)

    def __repr__(self) -> str:
        """Return the numbers of chunks and documents in one line."""
        return f"<Corpus: {len(self.chunks)} chunks of {len(self.documents)} documents>"

    def before(self, chunk: Chunk) -> str:
        """Return the end of the document's text before a chunk, as prompts show it."""
        text = self.documents[chunk.doc_id].text
        shown = plain(text[max(0, chunk.start - 2 * _BEFORE) : chunk.start])
        if len(shown) <= _BEFORE and chunk.start <= 2 * _BEFORE:
            return shown
        _, _, rest = shown[-_BEFORE:].partition(" ")
        return f"… {rest}"

    def order(self, seed: int) -> list[int]:
        """Return the indexes of the chunks in rounds: one of every document, then a second of each, shuffled by a seed.

        The order depends only on ids and the seed: adding or removing a document keeps the order of the others.
        """

        def rank(name: str) -> bytes:
            return hashlib.sha256(f"{seed}\0{name}".encode()).digest()

        members: defaultdict[str, list[int]] = defaultdict(list)
        for index, chunk in enumerate(self.chunks):
            members[chunk.doc_id].append(index)
        rows = []
        for doc_id, indexes in members.items():
            drawn = sorted(indexes, key=lambda index: rank(self.chunks[index].chunk_id))
            rows += [(place, rank(doc_id), index) for place, index in enumerate(drawn)]
        return [index for *_, index in sorted(rows)]

    def write(self, folder: Path) -> None:
        """Write the corpus into the folder of a run.

        Raises:
            InputError: a file cannot be written.
        """
        from pyarrow import Table, parquet

        from groundset.files import whole_file

        (folder / _FOLDER).mkdir(exist_ok=True)
        for name, rows in ((_DOCUMENTS, self.documents.values()), (_CHUNKS, self.chunks)):
            with whole_file(folder / _FOLDER / name, follow=False) as aside:
                parquet.write_table(Table.from_pylist(list(map(_columns, rows))), aside, compression="zstd")

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read the corpus of a run, whose files are untrusted.

        Raises:
            RunError: it is missing or damaged; the message names the file.
        """
        from groundset.rows import parquet_rows

        def rows(name: str, kind: type[Any]) -> Iterable[Any]:
            file = folder / _FOLDER / name
            try:
                for where, fields in parquet_rows(file):
                    values = {key: json.loads(value) if key in _AS_JSON else value for key, value in fields.items()}
                    try:
                        yield kind.model_validate(values)
                    except ValueError as error:
                        raise RunError(f"{where}: is damaged; restore it, or make the run again") from error
            except (OSError, InputError, ValueError) as error:
                if isinstance(error, RunError):
                    raise
                raise RunError(f"{file}: {getattr(error, 'strerror', None) or error}") from error

        documents = {document.doc_id: document for document in rows(_DOCUMENTS, Document)}
        return cls(documents, list(rows(_CHUNKS, Chunk)))


def _columns(row: Document | Chunk) -> dict[str, Any]:
    values = row.model_dump(mode="json")
    return {key: json.dumps(value, ensure_ascii=False) if key in _AS_JSON else value for key, value in values.items()}


def read_corpus(
    options: CorpusOptions,
    *,
    notify: Callable[[str], None],
    engine: str = "local",
    embedder: "Embedder | None" = None,
    on_file: Callable[[], object] = lambda: None,
) -> Corpus:
    """Read documents and cut them into chunks, and read the user's own chunks.

    Of the chunks that are cut, copies of earlier ones are dropped; among own ones, copies have ``copy_of`` in their
    metadata.

    Args:
        options: which, and how.
        notify: called with one line for each file that is skipped, or that lacks something.
        engine: where files are read: ``local``, ``ray`` or ``ray=ADDRESS``.
        embedder: for the chunkers ``semantic`` and ``token``; by default the usual one is opened if it is needed.
        on_file: called after each file.

    Raises:
        InputError: there is no chunk, or an option is wrong.
    """
    if not options.documents and options.chunks is None:
        raise InputError("no documents: name files or folders, or --chunks FILE")
    corpus = Corpus({}, [])
    if options.documents:
        _read_documents(corpus, options, notify, engine, embedder, on_file)
    if options.chunks is not None:
        _add_own(corpus, options.chunks)
    if not corpus.chunks:
        raise InputError(_why_empty(corpus))
    return corpus


def _read_documents(
    corpus: Corpus,
    options: CorpusOptions,
    notify: Callable[[str], None],
    engine: str,
    embedder: "Embedder | None",
    on_file: Callable[[], object],
) -> None:
    from groundset.corpus.copies import find_copies
    from groundset.corpus.read import MISSING, Cut, read_files

    min_length = _MIN_LENGTH if options.min_length is None else options.min_length
    cut = Cut(options.chunker, options.cut_size, options.chunk_overlap, options.merge or 1, min_length)
    tools = _tools(options, embedder)
    files, corpus.skipped = find_documents(options.documents)
    for skipped in corpus.skipped:
        notify(f"skipped {skipped.path}: {skipped.reason}")
    seen: dict[bytes, str] = {}
    chunks: list[Chunk] = []
    for found, read in zip(files, read_files(files, None if tools else cut, engine), strict=True):
        on_file()
        reason, document = read.reason, read.document
        if reason == MISSING and engine != "local" and found.file.exists():
            raise InputError(f"{found.file}: not found by a node of the cluster; use a folder that all share")
        if document is not None:
            same = hashlib.sha256(" ".join(document.text.split()).encode()).digest()
            first = seen.setdefault(same, found.path)
            reason = "" if first == found.path else f"same text as {first}"
        if reason or document is None:
            corpus.skipped.append(SkippedFile(found.path, reason))
            notify(f"skipped {found.path}: {reason}")
            continue
        if read.note:
            notify(f"{found.path}: {read.note}")
        own, short = read.chunks, read.short
        if own is None:
            from groundset.corpus.cutting.chunks import NO_TOOLS, chunk_document

            own, short = chunk_document(document, *cut, tools or NO_TOOLS)
        corpus.documents[document.doc_id] = document
        corpus.dropped["too short"] += short
        chunks += own
    copies = find_copies(chunks)
    corpus.dropped["copies"] += len(copies)
    corpus.dropped += Counter()  # without zeros
    corpus.chunks = [chunk for chunk in chunks if chunk.chunk_id not in copies]


def _tools(options: CorpusOptions, embedder: "Embedder | None") -> "Tools | None":
    """Return what the chunker needs; None for those that need nothing and can work in other processes."""
    if options.chunker not in ("semantic", "token"):
        return None
    from groundset.corpus.cutting.chunkers import Tools
    from groundset.retrieval.embed import open_embedder

    model = embedder or open_embedder(getattr(options, "embedder", DEFAULT_EMBEDDER))
    return Tools(model.encode, model.tokenizer)


def _add_own(corpus: Corpus, file: Path) -> None:
    from groundset.corpus.copies import find_copies
    from groundset.corpus.own import read_own_chunks

    documents, chunks = read_own_chunks(file)
    copies = find_copies(chunks)
    for document in documents:
        if document.doc_id in corpus.documents:
            raise InputError(f"--chunks {file}: the document id {document.doc_id!r} is that of a document in DOCS")
        corpus.documents[document.doc_id] = document
    known = {chunk.chunk_id for chunk in corpus.chunks}
    for chunk in chunks:
        if chunk.chunk_id in known:
            raise InputError(f"--chunks {file}: the chunk id {chunk.chunk_id!r} is that of a chunk of DOCS")
        if chunk.chunk_id in copies:
            chunk = chunk.model_copy(update={"metadata": chunk.metadata | {"copy_of": copies[chunk.chunk_id]}})
        corpus.chunks.append(chunk)


def _why_empty(corpus: Corpus) -> str:
    if corpus.documents:
        return f"no chunk is left: {corpus.dropped['too short']} are too short; see --min-length"
    if not corpus.skipped:
        return "no documents found: the folders are empty; name files, or folders that contain some"
    reasons = "; ".join(f"{path}: {reason}" for path, reason in corpus.skipped[:_NAMED_FILES])
    more = len(corpus.skipped) - _NAMED_FILES
    return f"no document could be read: {reasons}{f'; and {more} more files' if more > 0 else ''}"
