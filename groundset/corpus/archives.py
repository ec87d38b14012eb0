"""Archives such as docx: refused where unpacking costs too much, and handed on without pictures, which nobody reads."""

import io
import re
import zipfile
from pathlib import PurePosixPath

from groundset.corpus.bounds import refuse_many
from groundset.corpus.parsed import UnparsableError

_MAX_ENTRIES = 20_000
_MAX_UNPACKED = 64 << 20
# Text shrinks to a tenth, tables to a fiftieth; what shrinks much further was made to burst. Small files cannot.
_MAX_RATIO = 200
_SMALL = 4 << 20
# A thousand pages have a million; each third may be a paragraph, which takes five kilobytes while it is read.
_MAX_TAGS = 2_000_000
_MAX_CELLS = 250_000
_TEXTS = frozenset({"", ".xml", ".rels", ".vml", ".opf", ".ncx", ".html", ".htm", ".xhtml"})
_SHEET = re.compile(r"xl/worksheets/[^/]+\.xml")
_CELL = re.compile(rb'<c [^<>]*\br="([A-Z]{1,3})(\d{1,7})"[^<>]*>\s*<(?:v|is|f)\b')


def texts_only(data: bytes) -> bytes:
    """Return an archive with its pictures, fonts and embedded files emptied.

    Raises:
        UnparsableError: its texts are too large, or far larger than the archive.
        Exception: it is damaged; anything that ``zipfile`` raises.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = archive.infolist()
        refuse_many(len(entries), _MAX_ENTRIES, "files inside it")
        texts = [entry for entry in entries if _is_text(entry)]
        unpacked = sum(entry.file_size for entry in texts)
        if unpacked > max(_SMALL, _MAX_RATIO * len(data)):
            raise UnparsableError(f"unpacks to {unpacked // len(data)} times its size")
        if unpacked > _MAX_UNPACKED:
            raise UnparsableError(f"unpacks to more than {_MAX_UNPACKED >> 20} MB of text")
        tags = 0
        for entry in texts:
            xml = archive.read(entry)
            tags += xml.count(b"<")
            refuse_many(tags, _MAX_TAGS, "tags")
            if _SHEET.fullmatch(entry.filename):
                _check_sheet(xml)
        if not any(entry.file_size for entry in entries if not _is_text(entry)):
            return data
        slim = io.BytesIO()
        with zipfile.ZipFile(slim, "w") as copy:
            for entry in entries:
                copy.writestr(entry.filename, archive.read(entry) if _is_text(entry) else b"")
        return slim.getvalue()


def check_table(text: str) -> None:
    """Refuse comma-separated values that are too many once every row is as wide as the widest.

    Raises:
        UnparsableError: there are more than can be read.
    """
    widest = max(line.count(",") + 1 for line in text.split("\n"))
    refuse_many(widest * (text.count("\n") + 1), 20 * _MAX_CELLS, "cells")


def _is_text(entry: zipfile.ZipInfo) -> bool:
    return PurePosixPath(entry.filename).suffix.lower() in _TEXTS


def _check_sheet(xml: bytes) -> None:
    """Refuse a sheet that spans too many cells, filled or not; one far out is enough for that."""
    width = height = 0
    for column, row in _CELL.findall(xml):
        number = 0
        for letter in column:
            number = 26 * number + letter - ord("A") + 1
        width, height = max(width, number), max(height, int(row))
    refuse_many(width * height, _MAX_CELLS, "cells in a sheet")
