"""Parse PDFs: lines by pdfminer's layout analysis and tables by pdfplumber, converted to Markdown."""

import io
import logging
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pdfplumber
from pdfminer.layout import IndexAssigner, LAParams, LTChar, LTPage, LTTextBox, LTTextLine
from pdfminer.pdfdocument import PDFEncryptionError, PDFPasswordIncorrect
from pdfplumber.utils.exceptions import PdfminerException

from groundset.corpus.parsing.markdown import heading_title, parse_markdown
from groundset.corpus.parsing.pdf_text import Line, Page, Table, pages_to_markdown, plain_line, split_page_marks
from groundset.corpus.parsing.text import Parsed, UnparsableError, clean

_MIN_FILLED = 0.5
# Pages with more text boxes are read from top to bottom: finding their order takes cubic time.
_MAX_BOXES = 300
# Pages with more lines are drawings, not tables.
_MAX_EDGES = 20_000
# Table rows times characters of a page: pdfplumber compares each pair.
_MAX_LOOKUPS = 2_000_000
_LOGGERS = ("pdfminer", "pdfplumber")


def parse_pdf(data: bytes) -> Parsed:
    """Parse a PDF into Markdown with joined paragraphs and headings by font size, without running heads."""
    with _quiet():
        try:
            with pdfplumber.open(io.BytesIO(data), laparams={"boxes_flow": None}) as pdf:
                pages = [_read_page(page) for page in pdf.pages]
                metadata = pdf.metadata or {}
        except (UnparsableError, MemoryError, RecursionError):
            raise
        except Exception as error:
            cause = error.args[0] if isinstance(error, PdfminerException) and error.args else error
            if isinstance(cause, MemoryError | RecursionError):
                raise cause from None
            # pdfminer raises arbitrary exceptions for damaged files.
            raise UnparsableError(_reason(cause)) from error
    markdown, starts = split_page_marks(clean(pages_to_markdown(pages)))
    if not markdown:
        raise UnparsableError("no text (scanned pages?)" if pages else "no pages")
    parsed = parse_markdown(markdown)
    title = heading_title(parsed.text, parsed.headings[:1])
    # Lines that look like front matter or empty HTML are dropped, which shifts the text.
    starts = starts if parsed.text == markdown else []
    return parsed._replace(title=title or _metadata_title(metadata), pages=starts)


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence pdfminer, which logs font problems and warns about extraction rights."""
    levels = {name: logging.getLogger(name).level for name in _LOGGERS}
    for name in _LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)


def _reason(cause: Any) -> str:
    if isinstance(cause, PDFPasswordIncorrect | PDFEncryptionError):
        return "password-protected"
    return f"damaged pdf file ({type(cause).__name__})"


def _read_page(page: Any) -> Page:
    tables = list(_read_tables(page))
    lines = []
    for number, box in enumerate(_boxes_in_order(page.layout)):
        for item in box:
            line = _read_line(item, number)
            if line is not None and not any(table.contains(line) for table in tables):
                lines.append(line)
    page.close()
    return Page(float(page.height), lines, tables)


def _read_tables(page: Any) -> Iterator[Table]:
    found = page.find_tables() if len(page.edges) <= _MAX_EDGES else []
    # Frames around text are found as tables too.
    found = [table for table in found if len(table.rows) > 1 and len(table.rows[0].cells) > 1]
    if sum(len(table.rows) for table in found) * len(page.chars) > _MAX_LOOKUPS:
        return
    for table in found:
        rows = [[plain_line(cell or "") for cell in row] for row in table.extract()]
        cells = [cell for row in rows for cell in row]
        if sum(map(bool, cells)) >= _MIN_FILLED * len(cells):
            x0, top, x1, bottom = table.bbox
            yield Table(x0, page.height - top, x1, page.height - bottom, rows)


def _boxes_in_order(layout: LTPage) -> list[LTTextBox]:
    """Return the text boxes of a page in reading order, column by column."""
    boxes = [item for item in layout if isinstance(item, LTTextBox)]
    if len(boxes) <= _MAX_BOXES:
        options = LAParams()
        assigner = IndexAssigner()
        for group in layout.group_textboxes(options, boxes):
            group.analyze(options)
            assigner.run(group)
        boxes.sort(key=lambda box: box.index)
    return boxes


def _read_line(item: LTTextLine, box: int) -> Line | None:
    characters = [c for c in item if isinstance(c, LTChar) and not c.get_text().isspace()]
    text = plain_line(item.get_text())
    if not characters or not text:
        return None
    sizes = Counter(round(c.size * 2) / 2 for c in characters)
    bold = sum("bold" in c.fontname.lower() or "black" in c.fontname.lower() for c in characters)
    return Line(
        text=text,
        box=box,
        x0=item.x0,
        x1=item.x1,
        top=item.y1,
        bottom=item.y0,
        size=sizes.most_common(1)[0][0],
        bold=bold > 0.9 * len(characters),
    )


def _metadata_title(metadata: dict[str, Any]) -> str | None:
    """Return the title in the metadata, unless it is a default or a file name."""
    title = metadata.get("Title")
    title = " ".join(title.split()) if isinstance(title, str) else ""
    is_default = title.lower().startswith(("untitled", "microsoft word", "microsoft powerpoint"))
    return None if is_default or len(title) < 4 or "." in title[-5:] else title
