"""Files to documents: every file is read or skipped with a reason, and none stops the run."""

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import NamedTuple

from groundset.bounded import BoundedPool, BoundedProcess, LimitError, Limits
from groundset.corpus.files import FoundFile, SkippedFile
from groundset.corpus.parsing import formats
from groundset.corpus.parsing.text import UnparsableError, name_title
from groundset.processors import usable_processors
from programs.errors import InputError
from programs.types import Document

_PARSE = f"{formats.__name__}:{formats.parse_file.__name__}"
# What parsing one file may cost. HTML takes a hundred times its size while it is read, so 10 MB of it take 1 GB; a PDF
# of a thousand pages takes a fifth of that, and two minutes.
MAX_FILE_MB = 256
LIMITS = Limits(memory_mb=1024, output_mb=256)
SECONDS = 30
SECONDS_PER_MB = 100
# To start a process costs as much as parsing a megabyte or two, and each may take the memory above.
_MAX_PROCESSES = 4
_MB_PER_PROCESS = 4
# Fewer letters and digits than this say nothing that a question could be asked about.
MIN_CHARACTERS = 20
_SLUG_LENGTH = 40


class Reading(NamedTuple):
    """The documents that were read, in order of their paths, and the files that were not."""

    documents: list[Document]
    skipped: list[SkippedFile]


def read_documents(files: Iterable[FoundFile], on_file: Callable[[str], None] | None = None) -> Reading:
    """Parse files into documents, in processes with limits; call ``on_file`` with each path before waiting for it."""
    documents: list[Document] = []
    skipped: list[SkippedFile] = []
    seen: dict[bytes, str] = {}
    files = list(files)
    processes = min(usable_processors(), _MAX_PROCESSES, 1 + int(sum(map(_megabytes, files)) / _MB_PER_PROCESS))
    with BoundedPool(_PARSE, LIMITS, processes) as pool:
        for found, reading in [(found, pool.submit(_read_document, found)) for found in files]:
            if on_file is not None:
                on_file(found.path)
            try:
                document = reading.result()
            except UnparsableError as error:
                skipped.append(SkippedFile(path=found.path, reason=str(error)))
                continue
            same = seen.setdefault(_digest(document.text), document.path)
            if same == document.path:
                documents.append(document)
            else:
                skipped.append(SkippedFile(path=found.path, reason=f"same text as {same}"))
    return Reading(documents, skipped)


def _read_document(parse: BoundedProcess, found: FoundFile) -> Document:
    """Parse one file.

    Raises:
        UnparsableError: it cannot become a document.
    """
    try:
        if not found.file.is_file():
            raise UnparsableError("not a regular file" if found.file.exists() else "broken link")
        status = found.file.stat()
    except OSError as error:
        raise UnparsableError(f"unreadable: {error.strerror or error}") from error
    if not status.st_size:
        raise UnparsableError("empty")
    suffix = PurePosixPath(found.path).suffix.lower()
    if suffix not in formats.SUFFIXES:
        raise UnparsableError(f"unsupported type {suffix}")
    megabytes = status.st_size / (1 << 20)
    if megabytes > MAX_FILE_MB:
        raise UnparsableError(f"larger than {MAX_FILE_MB} MB")
    try:
        parsed = parse({"path": str(found.file.absolute()), "suffix": suffix}, SECONDS + SECONDS_PER_MB * megabytes)
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
        last_modified=datetime.fromtimestamp(status.st_mtime, UTC),
    )


def _megabytes(found: FoundFile) -> float:
    """Return the size of a file, 0 if it is unknown."""
    try:
        return found.file.stat().st_size / (1 << 20)
    except OSError:
        return 0.0


def document_id(path: str, text: str) -> str:
    """Name a document after its path and text, the same on any machine."""
    digest = hashlib.sha256(f"{path}\0{text}".encode()).hexdigest()[:8]
    return f"{document_name(path) or 'document'}-{digest}"


def document_name(path: str) -> str:
    """Return the name of a document, independent of its folder and text; may be empty."""
    ascii_stem = unicodedata.normalize("NFKD", PurePosixPath(path).stem).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", ascii_stem.lower())[:_SLUG_LENGTH].strip("-")


def nothing_left(skipped: Iterable[SkippedFile]) -> InputError:
    """Return the error for a run without documents: how many files were skipped, and why."""
    reasons = Counter(re.sub(r"^same text as .*", "same text as another", file.reason) for file in skipped)
    total = sum(reasons.values())
    if not total:
        return InputError("no documents found: the folders are empty; name files, or folders that hold some")
    listed = "; ".join(f"{reason} ({count})" for reason, count in reasons.most_common())
    return InputError(f"no document could be read: {total} file{'s' * (total > 1)} skipped: {listed}")


def _digest(text: str) -> bytes:
    """Return a hash of the words of a text; line by line, because the words of a book take ten times its memory."""
    digest = hashlib.sha256()
    for line in text.split("\n"):
        digest.update("".join(f"{word} " for word in line.split()).encode())
    return digest.digest()
