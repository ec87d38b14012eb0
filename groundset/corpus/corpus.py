"""The corpus: documents and their chunks, read from files, and stored with a run."""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from textwrap import shorten
from typing import Any, Self

from groundset.corpus.chunks import find_copies
from groundset.corpus.find import FoundFile, SkippedFile, find_documents
from groundset.corpus.options import ChunkOptions, CorpusOptions
from groundset.corpus.own import read_own_chunks
from groundset.corpus.read import MISSING, read_files
from groundset.files import check_target, is_stream, whole_file, write_rows
from groundset.models.catalogue import file_sha256
from groundset.printing import say
from groundset.programs.errors import InputError, RunError
from groundset.programs.text import one_line, plain
from groundset.programs.types import Chunk, Document
from groundset.retrieval.embed import open_tokenizer

_FOLDER, _DOCUMENTS, _CHUNKS = "corpus", "documents.parquet", "chunks.parquet"
_AS_JSON = {"headings", "pages", "captions", "metadata"}  # columns whose values have no fixed form
_MAX_ROW = 128 << 20  # bytes of a document as JSON, whose text is limited when it is read
_BEFORE = 300  # characters
NO_DOCUMENTS = (
    "no documents found: the folders are empty, or all is excluded; name files, or other folders"
)
NEWEST = "newest"
_NAMED_FILES = 5
_SHOWN = 60  # characters


@dataclass(repr=False)
class Corpus:
    """Documents by their ids, and chunks in the order of the documents."""

    documents: dict[str, Document]
    chunks: list[Chunk]
    # The files that could not be read, and why.
    skipped: list[SkippedFile] = field(default_factory=list)
    # How many chunks were dropped, by reason.
    dropped: Counter[str] = field(default_factory=Counter)

    @cached_property
    def by_id(self) -> dict[str, Chunk]:
        """Return the chunks by their ids."""
        return {chunk.chunk_id: chunk for chunk in self.chunks}

    def before(self, chunk: Chunk) -> str:
        """Return the end of the document's text before a chunk, as prompts show it."""
        first = max(0, chunk.start - 2 * _BEFORE)
        shown = plain(self.documents[chunk.doc_id].text[first : chunk.start])
        is_cut = first > 0 or len(shown) > _BEFORE
        return f"… {shown[-_BEFORE:].partition(' ')[2]}" if is_cut else shown

    def after(self, chunk: Chunk) -> str:
        """Return the next line of the document's text after a chunk; empty at its end."""
        return plain(self.documents[chunk.doc_id].text[chunk.end :].lstrip().partition("\n")[0])

    def preference(self, prefer: str) -> Callable[[str], float]:
        """Return how much the document of a chunk counts: the later its file was changed, for
        ``newest``, or whether its path matches a pattern.

        Raises:
            InputError: no path matches it.
        """
        dates = {name: document.last_modified for name, document in self.documents.items()}
        counts = {name: date.timestamp() if date else 0.0 for name, date in dates.items()}
        if prefer != NEWEST:
            counts = {
                name: float(fnmatchcase(document.path, prefer))
                for name, document in self.documents.items()
            }
            if prefer and not any(counts.values()):
                raise InputError(f"--prefer {prefer}: no document has such a path")
        return lambda name: counts[self.by_id[name].doc_id]

    def order(self, seed: int) -> list[int]:
        """Return the indexes of the chunks in rounds: one of every document, then a second of each,
        shuffled by a seed.

        The order depends only on ids and the seed: adding or removing a document keeps the order of
        the others.
        """

        def rank(name: str) -> bytes:
            return hashlib.sha256(f"{seed}\0{name}".encode()).digest()

        shuffled = sorted((rank(chunk.chunk_id), index) for index, chunk in enumerate(self.chunks))
        drawn: Counter[str] = Counter()  # chunks of each document so far
        rounds = []
        for _, index in shuffled:
            name = self.chunks[index].doc_id
            rounds.append((drawn[name], rank(name), index))
            drawn[name] += 1
        return [index for *_, index in sorted(rounds)]

    def write(self, folder: Path) -> None:
        """Write the corpus into the folder of a run.

        Raises:
            InputError: a file cannot be written.
        """
        from pyarrow import Table, parquet

        (folder / _FOLDER).mkdir(exist_ok=True)
        for name, items in ((_DOCUMENTS, self.documents.values()), (_CHUNKS, self.chunks)):
            rows = [item.model_dump(mode="json") for item in items]
            for row in rows:
                for key in row.keys() & _AS_JSON:
                    row[key] = json.dumps(row[key], ensure_ascii=False)
            with whole_file(folder / _FOLDER / name, follow=False) as aside:
                parquet.write_table(Table.from_pylist(rows), aside, compression="zstd")

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read the corpus of a run, whose files are untrusted.

        Raises:
            RunError: it is missing or damaged; the message names the file.
        """
        documents = _stored(folder / _FOLDER / _DOCUMENTS, Document)
        chunks = _stored(folder / _FOLDER / _CHUNKS, Chunk)
        return cls({document.doc_id: document for document in documents}, list(chunks))


def _stored(file: Path, kind: type[Any]) -> Iterator[Any]:
    from groundset.rows import parquet_rows

    where = str(file)
    try:
        for place, row in parquet_rows(file, longest=_MAX_ROW, kind=RunError):
            where = place
            parsed = {key: json.loads(row[key]) for key in row.keys() & _AS_JSON}
            yield kind.model_validate({**row, **parsed})
    except (TypeError, ValueError) as error:
        raise RunError(f"{where}: is damaged; restore it, or make the run again") from error


def documents_digest(options: CorpusOptions) -> str:
    """Return a hash of the files that are read, whatever they are called outside their folder.

    Raises:
        InputError: there are none.
    """
    digest = hashlib.sha256()
    documents, skipped = find_documents(options.documents, options.exclude)
    if not (documents or skipped or options.chunks):
        raise InputError(NO_DOCUMENTS)
    own = [FoundFile(options.chunks, "")] if options.chunks else []
    for file, path in documents + own:
        if os.path.isfile(file):  # noqa: PTH113 - pathlib raises for a path that is too long
            digest.update(f"{path}\0{file_sha256(file)}\n".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def read_corpus(
    options: CorpusOptions,
    *,
    # gets a line for each file that is skipped or lacks something; if verbose, more
    notify: Callable[[str], None],
    on_file: Callable[[], object] = lambda: None,  # is called after each file
) -> Corpus:
    """Read documents and cut them into chunks, and read the user's own chunks.

    Of the chunks that are cut, copies of earlier ones are dropped; own ones stay, with ``copy_of``
    in their metadata.

    Raises:
        InputError: there is no chunk, or an option is wrong.
        ModelError: the tokenizer of the chunker cannot be loaded.
    """
    if not options.documents and options.chunks is None:
        raise InputError("no documents: name files or folders, or --chunks FILE")
    corpus = Corpus({}, [])
    if options.chunker == "token":
        open_tokenizer(options.embedder)  # here, where it can be pulled and refused
    if options.documents:
        _read_documents(corpus, options, notify, on_file)
        copies = find_copies(corpus.chunks)
        corpus.dropped["copies"] = len(copies)
        corpus.chunks = [chunk for chunk in corpus.chunks if chunk.chunk_id not in copies]
    if options.chunks is not None:
        _add_own_chunks(corpus, options.chunks)
    if not corpus.chunks:
        raise InputError(_why_empty(corpus))
    return corpus


def _add_own_chunks(corpus: Corpus, file: Path) -> None:
    documents, chunks = read_own_chunks(file)
    taken = {*corpus.documents, *(chunk.chunk_id for chunk in corpus.chunks)}
    names = [*(document.doc_id for document in documents), *(chunk.chunk_id for chunk in chunks)]
    for name in taken.intersection(names):
        raise InputError(f"--chunks {file}: the id {name!r} is also in DOCS; rename it")
    corpus.documents |= {document.doc_id: document for document in documents}
    copies = find_copies(chunks)
    for chunk in chunks:
        if chunk.chunk_id in copies:
            metadata = {**chunk.metadata, "copy_of": copies[chunk.chunk_id]}
            chunk = chunk.model_copy(update={"metadata": metadata})
        corpus.chunks.append(chunk)


def _read_documents(
    corpus: Corpus,
    options: CorpusOptions,
    notify: Callable[[str], None],
    on_file: Callable[[], object],
) -> None:
    files, corpus.skipped = find_documents(options.documents, options.exclude)
    contents = read_files(files, options)
    first_paths: dict[bytes, str] = {}  # by a hash of the text
    for (file, path), content in zip(files, contents, strict=True):
        on_file()
        document, reason = content.document, content.reason
        if reason == MISSING and options.engine != "local" and file.exists():
            raise InputError(
                f"{file}: not found by a node of the cluster; use a folder that all share"
            )
        if document is not None:
            text = one_line(document.text)
            first = first_paths.setdefault(hashlib.sha256(text.encode()).digest(), path)
            reason = "" if first == path else f"same text as {first}"
        if reason or document is None:
            corpus.skipped.append(SkippedFile(path, reason))
            continue
        corpus.documents[document.doc_id] = document
        corpus.chunks += content.chunks
        corpus.dropped["too short"] += len(content.short)
        dropped = (
            f"too short: {shorten(text, _SHOWN, placeholder=' …')}" for text in content.short
        )
        details = [*content.left_out, *dropped] if options.verbose else []
        for line in filter(None, [content.note, *details]):
            notify(f"{path}: {line}")
    for path, reason in corpus.skipped:
        notify(f"skipped {path}: {reason}")


def _why_empty(corpus: Corpus) -> str:
    if corpus.documents:
        return f"no chunk is left: {corpus.dropped['too short']} are too short; see --min-length"
    if not corpus.skipped:
        return NO_DOCUMENTS
    reasons = [f"{path}: {reason}" for path, reason in corpus.skipped[:_NAMED_FILES]]
    return f"no document could be read: {'; '.join(reasons)}"


def cut(options: CorpusOptions) -> Corpus:
    """Cut the documents and return them with their chunks; what is skipped is named on standard
    error.

    Raises:
        InputError: there are no chunks.
    """
    return read_corpus(options, notify=lambda line: say(line, err=True))


def chunk(options: ChunkOptions) -> None:
    """Cut the documents, write the chunks and the texts of the documents beside them, and print the
    counts.

    Raises:
        InputError: there are no chunks, or a file cannot be written.
    """
    out = options.out
    # FILE.docs.jsonl for FILE.jsonl; chunks on a stream are without them.
    texts = out.with_name(f"{out.name.removesuffix('.jsonl')}.docs.jsonl")
    targets = [out] if is_stream(out) else [texts, out]
    found, _ = find_documents(options.documents, options.exclude)
    read = {file.resolve() for file in (options.chunks, *(file for file, _ in found)) if file}
    for target in targets:
        check_target(target)
        if target.resolve() in read:
            raise InputError(
                f"--out {out}: would replace {target}, which is read; name another file"
            )
    corpus = cut(options)
    if not is_stream(out):  # first, so that chunks never exist without their documents
        shown = {"doc_id", "path", "title", "text"}
        write_rows(texts, (each.model_dump(include=shown) for each in corpus.documents.values()))
    chunks = (
        each.model_dump(mode="json", exclude=None if each.metadata else {"metadata"})
        for each in corpus.chunks
    )
    write_rows(out, chunks)
    dropped = f"dropped: {corpus.dropped['too short']} too short, {corpus.dropped['copies']} copies"
    counts = f"{len(corpus.chunks)} chunks from {len(corpus.documents)} documents"
    say(f"{counts} ({dropped}; skipped files: {len(corpus.skipped)}).", err=is_stream(out))
