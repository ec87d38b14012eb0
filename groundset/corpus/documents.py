"""Files to documents: every file is read or skipped with a reason, and none stops the run."""

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import NamedTuple

from groundset.corpus.bounds import MAX_FILE, MAX_HTML, MAX_LINES, MAX_TEXT, refuse_large, refuse_many
from groundset.corpus.files import FoundFile, SkippedFile
from groundset.corpus.html import parse_html
from groundset.corpus.markdown import parse_markdown
from groundset.corpus.office import OFFICE_SUFFIXES, TEXT_SUFFIXES, parse_office
from groundset.corpus.parsed import Parsed, UnparsableError
from groundset.corpus.plain import parse_plain
from groundset.corpus.text import clean, decode, name_title
from programs.errors import InputError
from programs.types import Document

MARKDOWN_SUFFIXES = frozenset({".md", ".markdown", ".mdown", ".mkd", ".mdx", ".qmd", ".rmd"})
HTML_SUFFIXES = frozenset({".html", ".htm", ".xhtml"})
PLAIN_SUFFIXES = frozenset({".txt", ".text", ".rst", ".adoc", ".asciidoc", ".org", ".tex", ".log", ""})
SUFFIXES = MARKDOWN_SUFFIXES | HTML_SUFFIXES | PLAIN_SUFFIXES | OFFICE_SUFFIXES | {".pdf"}
# Fewer letters and digits than this say nothing that a question could be asked about.
MIN_CHARACTERS = 20
_SLUG_LENGTH = 40


class Reading(NamedTuple):
    """The documents that were read, in order of their paths, and the files that were not."""

    documents: list[Document]
    skipped: list[SkippedFile]


def read_documents(files: Iterable[FoundFile], on_file: Callable[[str], None] | None = None) -> Reading:
    """Parse files into documents; ``on_file`` is told each path before it is read."""
    documents: list[Document] = []
    skipped: list[SkippedFile] = []
    seen: dict[bytes, str] = {}
    for found in files:
        if on_file is not None:
            on_file(found.path)
        try:
            document = read_document(found)
        except UnparsableError as error:
            skipped.append(SkippedFile(path=found.path, reason=str(error)))
            continue
        same = seen.setdefault(_digest(document.text), document.path)
        if same == document.path:
            documents.append(document)
        else:
            skipped.append(SkippedFile(path=found.path, reason=f"same text as {same}"))
    return Reading(documents, skipped)


def read_document(found: FoundFile) -> Document:
    """Parse one file, or say with ``UnparsableError`` why it cannot become a document."""
    suffix = PurePosixPath(found.path).suffix.lower()
    try:
        if not found.file.is_file():
            raise UnparsableError("not a regular file" if found.file.exists() else "broken link")
        refuse_large(found.file.stat().st_size, _most(suffix))
        data = found.file.read_bytes()
        modified = datetime.fromtimestamp(found.file.stat().st_mtime, UTC)
    except OSError as error:
        reason = "permission denied" if isinstance(error, PermissionError) else error.strerror or str(error)
        raise UnparsableError(f"unreadable: {reason}") from error
    if not data.strip():
        raise UnparsableError("empty")
    try:
        parsed = _parse(data, suffix)
    except MemoryError:
        raise UnparsableError("reading it takes more memory than there is") from None
    except RecursionError:
        raise UnparsableError("nested too deep") from None
    if sum(map(str.isalnum, parsed.text)) < MIN_CHARACTERS:
        raise UnparsableError("too little text")
    return Document(
        doc_id=document_id(found.path, parsed.text),
        path=found.path,
        title=parsed.title or name_title(found.path),
        text=parsed.text,
        headings=tuple(parsed.headings),
        last_modified=modified,
    )


def document_id(path: str, text: str) -> str:
    """Name a document after its path and text, the same on any machine."""
    digest = hashlib.sha256(f"{path}\0{text}".encode()).hexdigest()[:8]
    return f"{document_name(path) or 'document'}-{digest}"


def document_name(path: str) -> str:
    """Return what a document is called wherever its file lies and whatever stands in it; empty if nothing is left."""
    ascii_stem = unicodedata.normalize("NFKD", PurePosixPath(path).stem).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", ascii_stem.lower())[:_SLUG_LENGTH].strip("-")


def nothing_left(skipped: Iterable[SkippedFile]) -> InputError:
    """Return the error for a run without documents: how many files were skipped, and why."""
    reasons = Counter(re.sub(r"^same text as .*", "same text as another", file.reason) for file in skipped)
    total = sum(reasons.values())
    if not total:
        return InputError("no documents found: the folders are empty")
    listed = "; ".join(f"{reason} ({count})" for reason, count in reasons.most_common())
    return InputError(f"no document could be read: {total} file{'s' * (total > 1)} skipped: {listed}")


def _most(suffix: str) -> int:
    """Return how many bytes a file may have."""
    if suffix in HTML_SUFFIXES:
        return MAX_HTML
    return MAX_FILE if suffix in OFFICE_SUFFIXES - TEXT_SUFFIXES | {".pdf"} else MAX_TEXT


def _digest(text: str) -> bytes:
    """Return a hash of the words of a text; line by line, because the words of a book take ten times its memory."""
    digest = hashlib.sha256()
    for line in text.split("\n"):
        digest.update("".join(f"{word} " for word in line.split()).encode())
    return digest.digest()


def _parse(data: bytes, suffix: str) -> Parsed:
    if suffix not in SUFFIXES:
        raise UnparsableError(f"unsupported type {suffix}")
    if suffix == ".pdf" or data.startswith(b"%PDF-"):
        # pdfminer takes a while to import; only runs with a PDF wait for it.
        from groundset.corpus.pdf import parse_pdf

        return parse_pdf(data)
    if suffix in OFFICE_SUFFIXES:
        return parse_office(data, suffix)
    if suffix in HTML_SUFFIXES:
        return parse_html(data)
    text = clean(decode(data))
    refuse_many(text.count("\n"), MAX_LINES, "lines")
    return parse_markdown(text) if suffix in MARKDOWN_SUFFIXES else parse_plain(text)
