"""Parse files into documents; files that cannot be parsed are skipped with a reason.

A file behind a URL is copied to a temporary file first, by the process that parses it.
"""

import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import NamedTuple

from groundset import __version__
from groundset.bounded import BoundedProcess, LimitError, Limits
from groundset.corpus.files import FoundFile, SkippedFile
from groundset.corpus.parsing import formats
from groundset.corpus.parsing.text import UnparsableError, name_title
from groundset.corpus.remote import RemoteFile, TooLargeError, copied
from groundset.executors import LOCAL, Executor
from programs.errors import InputError
from programs.types import Chunk, Document

_PARSE = f"{formats.__name__}:{formats.parse_file.__name__}"
# Limits for parsing one file. HTML takes a hundred times its size in memory (10 MB: 1 GB), a PDF of a thousand pages
# 200 MB and two minutes.
MAX_FILE_MB = 256
LIMITS = Limits(memory_mb=1024, output_mb=256)
SECONDS = 30
SECONDS_PER_MB = 100
# Starting a process takes as long as parsing a megabyte or two, and each may use the memory above.
_MAX_PROCESSES = 4
_MB_PER_PROCESS = 4
MIN_CHARACTERS = 20  # letters and digits of a document worth asking about
_SLUG_LENGTH = 40
_NAMED_FILES = 5
_MISSING = "broken link"
_TOO_LARGE = f"larger than {MAX_FILE_MB} MB"
Cut = Callable[[Document], tuple[list[Chunk], int]]


class Reading(NamedTuple):
    """The parsed documents in the order of their paths, their chunks, and the skipped files.

    Attributes:
        dropped_short: how many chunks were dropped as too short.
    """

    documents: list[Document]
    skipped: list[SkippedFile]
    chunks: list[Chunk]
    dropped_short: int


class _ReadFile(NamedTuple):
    """A parsed file and its chunks, or the reason to skip it."""

    document: Document | None = None
    chunks: Sequence[Chunk] = ()
    dropped_short: int = 0
    reason: str = ""


class _ToRead(NamedTuple):
    """A file, and the document that was read from its path before, if any."""

    found: FoundFile
    known: Document | None


@dataclass(frozen=True)
class _ReadFiles:
    """An operator that parses files in a process with limits, and cuts the documents."""

    cut: Cut

    @contextmanager
    def load(self) -> Iterator[Callable[[_ToRead], _ReadFile]]:
        """Yield a function that reads a file."""
        parse = BoundedProcess(_PARSE, LIMITS)

        def read(item: _ToRead) -> _ReadFile:
            try:
                document = _read_document(parse, item.found, item.known)
            except UnparsableError as error:
                return _ReadFile(reason=str(error))
            chunks, short = self.cut(document)
            return _ReadFile(document, chunks, short)

        try:
            yield read
        finally:
            parse.end()

    def name(self, item: _ToRead) -> str:
        """Return the path of a file."""
        return item.found.path


def _uncut(document: Document) -> tuple[list[Chunk], int]:
    del document
    return [], 0


def read_documents(
    files: Iterable[FoundFile],
    on_file: Callable[[str], None] | None = None,
    *,
    cut: Cut = _uncut,
    known: Mapping[str, Document] = MappingProxyType({}),
    executor: Executor = LOCAL,
    one_process: bool = False,
) -> Reading:
    """Parse files in processes with limits, and cut the documents into chunks.

    Args:
        files: the files.
        on_file: called with each path before its document is awaited.
        cut: returns the chunks of a document, and how many were dropped as too short.
        known: documents read before, by path; a file whose content has not changed since is not parsed again.
        executor: where this is done.
        one_process: whether ``cut`` itself uses all processors of this machine.

    Raises:
        InputError: a node of a cluster does not see a file, or a file behind a URL cannot be fetched.
    """
    reading = Reading([], [], [], 0)
    short = 0
    seen: dict[bytes, str] = {}
    # Absolute, because the working folder of an actor is another.
    files = [found._replace(file=found.file.absolute()) if isinstance(found.file, Path) else found for found in files]
    parts = 1 + sum(map(_megabytes, files)) / _MB_PER_PROCESS
    most = 1 if one_process else _MAX_PROCESSES
    items = (_ToRead(found, known.get(found.path)) for found in files)
    with closing(executor.map(_ReadFiles(cut), items, parts=parts, most=most)) as found_documents:
        for found in files:
            if on_file is not None:
                on_file(found.path)
            document, chunks, dropped, reason = next(found_documents)
            if document is None:
                is_seen_here = isinstance(found.file, Path) and not executor.is_local and found.file.exists()
                if reason == _MISSING and is_seen_here:
                    raise InputError(f"{found.file}: not found by a node of the cluster; use a folder that all share")
                reading.skipped.append(SkippedFile(path=found.path, reason=reason))
                continue
            original = seen.setdefault(_digest(document.text), document.path)
            if original != document.path:
                reading.skipped.append(SkippedFile(path=found.path, reason=f"same text as {original}"))
                continue
            reading.documents.append(document)
            reading.chunks.extend(chunks)
            short += dropped
    return reading._replace(dropped_short=short)


def _read_document(parse: BoundedProcess, found: FoundFile, known: Document | None) -> Document:
    """Parse one file, unless its content is that of a known document; a remote one is copied to this machine first.

    Raises:
        UnparsableError: the file cannot be parsed.
        InputError: a remote file cannot be copied.
    """
    if isinstance(found.file, Path):
        return _parse_document(parse, found, found.file, known)
    if found.file.size == 0:
        raise UnparsableError("empty")
    _check_suffix(found)
    if known is not None and found.file.content_id and known.source_digest == _source_digest(found.file.content_id):
        return _renewed(known, found, found.file.modified)
    try:
        with copied(found.file, MAX_FILE_MB << 20) as copy:
            return _parse_document(parse, found, copy, known)
    except TooLargeError:
        raise UnparsableError(_TOO_LARGE) from None


def _check_suffix(found: FoundFile) -> str:
    """Return the suffix of a file in lower case.

    Raises:
        UnparsableError: files of this type cannot be parsed.
    """
    suffix = PurePosixPath(found.path).suffix.lower()
    if suffix not in formats.SUFFIXES:
        raise UnparsableError(f"unsupported type {suffix}")
    return suffix


def _source_digest(content: str) -> str:
    """Return the digest of what a document is parsed from: a content, named by its hash, and the parsers."""
    return hashlib.sha256(f"{_parsers_digest()}\0{content}".encode()).hexdigest()


@cache
def _parsers_digest() -> str:
    digest = hashlib.sha256(__version__.encode())
    for module in sorted(Path(formats.__file__).parent.glob("*.py")):
        digest.update(module.read_bytes())
    return digest.hexdigest()


def _renewed(known: Document, found: FoundFile, modified: datetime | None) -> Document:
    """Return a known document as if it had been read now."""
    return known.model_copy(update={"doc_id": document_id(found.path, known.text), "last_modified": modified})


def _parse_document(parse: BoundedProcess, found: FoundFile, file: Path, known: Document | None) -> Document:
    """Parse a file of this machine, unless its content is that of a known document.

    Raises:
        UnparsableError: it cannot be parsed.
    """
    try:
        if not file.is_file():
            raise UnparsableError("not a regular file" if file.exists() else _MISSING)
        status = file.stat()
    except OSError as error:
        raise UnparsableError(f"unreadable: {error.strerror or error}") from error
    if not status.st_size:
        raise UnparsableError("empty")
    suffix = _check_suffix(found)
    megabytes = status.st_size / (1 << 20)
    if megabytes > MAX_FILE_MB:
        raise UnparsableError(_TOO_LARGE)
    if isinstance(found.file, RemoteFile):
        content, modified = found.file.content_id or _sha256(file), found.file.modified
    else:
        content, modified = _sha256(file), datetime.fromtimestamp(status.st_mtime, UTC)
    digest = _source_digest(content)
    if known is not None and known.source_digest == digest:
        return _renewed(known, found, modified)
    try:
        parsed = parse({"path": str(file), "suffix": suffix}, SECONDS + SECONDS_PER_MB * megabytes)
    except LimitError as error:
        raise UnparsableError(f"reading it {error}") from error
    if "refused" in parsed:
        raise UnparsableError(parsed["refused"])
    if sum(map(str.isalnum, parsed["text"])) < MIN_CHARACTERS:
        raise UnparsableError("too little text")
    return Document(
        doc_id=document_id(found.path, parsed["text"]),
        path=found.path,
        title=parsed["title"] or name_title(found.path),
        text=parsed["text"],
        headings=parsed["headings"],
        pages=parsed["pages"],
        captions=parsed["captions"],
        last_modified=modified,
        source_digest=digest,
    )


def _sha256(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        reason = "permission denied" if isinstance(error, PermissionError) else error.strerror or error
        raise UnparsableError(f"unreadable: {reason}") from error


def _megabytes(found: FoundFile) -> float:
    """Return the size of a file, 0 if it is unknown."""
    if isinstance(found.file, RemoteFile):
        return (found.file.size or 0) / (1 << 20)
    try:
        return found.file.stat().st_size / (1 << 20)
    except OSError:
        return 0.0


def document_id(path: str, text: str) -> str:
    """Return a document id made of its path and text, the same on any machine."""
    digest = hashlib.sha256(f"{path}\0{text}".encode()).hexdigest()[:8]
    return f"{document_name(path) or 'document'}-{digest}"


def document_name(path: str) -> str:
    """Return a slug of the file name, possibly empty."""
    ascii_stem = unicodedata.normalize("NFKD", PurePosixPath(path).stem).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", ascii_stem.lower())[:_SLUG_LENGTH].strip("-")


def no_documents_error(skipped: Sequence[SkippedFile]) -> InputError:
    """Build the error for a corpus without documents, which names the skipped files and the reasons."""
    if not skipped:
        return InputError("no documents found: the folders are empty; name files, or folders that contain some")
    reasons = "; ".join(f"{file.path}: {file.reason}" for file in skipped[:_NAMED_FILES])
    more = f"; and {len(skipped) - _NAMED_FILES} more files" if len(skipped) > _NAMED_FILES else ""
    return InputError(f"no document could be read: {reasons}{more}")


def _digest(text: str) -> bytes:
    """Return a hash of the words of a text, line by line to save memory."""
    digest = hashlib.sha256()
    for line in text.split("\n"):
        digest.update("".join(f"{word} " for word in line.split()).encode())
    return digest.digest()
