"""Pages of a PDF, as many and as full as can be read."""

import re
import zlib
from collections.abc import Iterator
from itertools import islice
from typing import Any

from pdfminer.layout import LTPage
from pdfminer.pdfinterp import PDFPageInterpreter
from pdfminer.pdfpage import PDFPage
from pdfplumber.page import Page, PDFPageAggregatorWithMarkedContent
from pdfplumber.pdf import PDF

from groundset.corpus.bounds import refuse_many
from groundset.corpus.parsed import UnparsableError

_MAX_PAGES = 10_000
# Letters, lines and figures, of a page and of all; a page of small print holds ten thousand.
_MAX_DRAWN_ON_PAGE = 200_000
_MAX_DRAWN = 10_000_000
_MAX_STREAM = 32 << 20
_MAX_STREAMS = 256 << 20
_MAX_LAYERS = 4
_STREAM = re.compile(rb"(?<!end)stream\r?\n")
_DICTIONARY = 2_000  # bytes before a stream in which its dictionary stands
_STEP = 1 << 20


class _Device(PDFPageAggregatorWithMarkedContent):
    """Gives up on a page that draws without end, as one can that shows the same figure within itself many times."""

    drawn = 0

    def begin_figure(self, *arguments: Any, **options: Any) -> None:
        self._count()
        super().begin_figure(*arguments, **options)

    def render_char(self, *arguments: Any, **options: Any) -> float:
        self._count()
        return super().render_char(*arguments, **options)

    def paint_path(self, *arguments: Any, **options: Any) -> None:
        self._count()
        super().paint_path(*arguments, **options)

    def _count(self) -> None:
        self.drawn += 1
        refuse_many(self.drawn, _MAX_DRAWN_ON_PAGE, "letters and lines on a page")


class BoundedPage(Page):
    """A page whose layout is given up where it is too full; ``drawn`` says how full it is."""

    drawn = 0

    @property
    def layout(self) -> LTPage:
        """Return what is on the page.

        Raises:
            UnparsableError: it is too much.
        """
        if not hasattr(self, "_layout"):
            device = _Device(self.pdf.rsrcmgr, pageno=self.page_number, laparams=self.pdf.laparams)
            PDFPageInterpreter(self.pdf.rsrcmgr, device).process_page(self.page_obj)
            self.drawn = device.drawn
            self._layout = device.get_result()
        return self._layout


def bounded_pages(pdf: PDF) -> Iterator[BoundedPage]:
    """Yield the pages of a document.

    Raises:
        UnparsableError: there are too many, or more is on them than can be read.
    """
    page_objects = list(islice(PDFPage.create_pages(pdf.doc), _MAX_PAGES + 1))
    refuse_many(len(page_objects), _MAX_PAGES, "pages")
    drawn = 0
    top = 0.0
    for number, page_object in enumerate(page_objects, 1):
        page = BoundedPage(pdf, page_object, number, top)
        top += page.height
        yield page
        drawn += page.drawn
        refuse_many(drawn, _MAX_DRAWN, "letters and lines")


def refuse_bombs(data: bytes) -> None:
    """Refuse a file whose streams unpack to more than can be read; pictures do not count, they stay packed.

    Raises:
        UnparsableError: one stream is too large, or all together.
    """
    total = 0
    for match in _STREAM.finditer(data):
        head = data[max(0, match.start() - _DICTIONARY) : match.start()]
        if b"/Image" in head[head.rfind(b"obj") :]:
            continue
        end = data.find(b"endstream", match.end())
        total += _unpacked(data[match.end() : end if end >= 0 else len(data)])
        if total > _MAX_STREAMS:
            raise UnparsableError(f"unpacked larger than {_MAX_STREAMS >> 20} MB")


def _unpacked(data: bytes) -> int:
    """Return the size of a stream once it is unpacked, also if it was packed several times."""
    total = 0
    for _ in range(_MAX_LAYERS):
        pieces = list(_pieces(data))
        size = sum(map(len, pieces))
        if size > _MAX_STREAM:
            raise UnparsableError(f"a part of it unpacked larger than {_MAX_STREAM >> 20} MB")
        total += size
        data = b"".join(pieces)
    return total


def _pieces(data: bytes) -> Iterator[bytes]:
    """Unpack step by step, to the end, to damage or to beyond what can be read."""
    unpacker = zlib.decompressobj()
    size = 0
    try:
        while data and not unpacker.eof and size <= _MAX_STREAM:
            piece = unpacker.decompress(data, _STEP)
            data = unpacker.unconsumed_tail
            size += len(piece)
            yield piece
    except zlib.error:
        return
