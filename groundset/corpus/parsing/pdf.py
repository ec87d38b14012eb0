"""Parse PDFs: lines by pdfminer's layout analysis and tables by pdfplumber, converted to Markdown."""

import io
import logging
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pdfplumber
from pdfminer.layout import IndexAssigner, LAParams, LTChar, LTPage, LTTextBox, LTTextLine
from pdfminer.pdfdocument import PDFEncryptionError, PDFPasswordIncorrect
from pdfplumber.utils.exceptions import PdfminerException

from groundset.corpus.parsing.markdown import heading_title, parse_markdown
from groundset.corpus.parsing.pdf_text import Line, Page, Table, pages_to_markdown, plain_line, split_page_marks
from groundset.corpus.parsing.text import RAISED, Parsed, UnparsableError, clean

_MIN_FILLED = 0.5
# Pages with more text boxes are read from top to bottom: finding their order takes cubic time.
_MAX_BOXES = 300
# Pages with more lines are drawings, not tables.
_MAX_EDGES = 20_000
# Table rows times characters of a page: pdfplumber compares each pair.
_MAX_LOOKUPS = 2_000_000


def parse_pdf(data: bytes) -> Parsed:
    """Parse a PDF into Markdown with joined paragraphs and headings by font size, without running heads.

    Raises:
        UnparsableError: it is damaged or encrypted, or has no text.
    """
    # pdfminer logs font problems and warns about extraction rights.
    for name in ("pdfminer", "pdfplumber"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings(), pdfplumber.open(io.BytesIO(data), laparams={"boxes_flow": None}) as pdf:
            warnings.simplefilter("ignore")
            pages = [_read_page(page) for page in pdf.pages]
            metadata = pdf.metadata or {}
    except (UnparsableError, MemoryError, RecursionError):
        raise
    except Exception as error:
        cause = error.args[0] if isinstance(error, PdfminerException) and error.args else error
        if isinstance(cause, MemoryError | RecursionError):
            raise cause from None
        if isinstance(cause, PDFPasswordIncorrect | PDFEncryptionError):
            raise UnparsableError("password-protected") from error
        # pdfminer raises arbitrary exceptions for damaged files.
        raise UnparsableError(f"damaged pdf file ({type(cause).__name__})") from error
    markdown, starts = split_page_marks(clean(pages_to_markdown(pages)))
    if not markdown:
        raise UnparsableError("no text (scanned pages?)" if pages else "no pages")
    bare = sum(not page.lines and not page.tables for page in pages)
    parsed = parse_markdown(markdown)
    return parsed._replace(
        title=heading_title(parsed.text, parsed.headings[:1]) or _metadata_title(metadata),
        # Lines that look like front matter or empty HTML are dropped, which shifts the text.
        pages=starts if parsed.text == markdown else (),
        note=f"{bare} of {len(pages)} pages without text (scanned?)" if bare else "",
    )


def _read_page(page: Any) -> Page:
    tables = list(_read_tables(page))
    lines = []
    for number, box in enumerate(_boxes_in_order(page.layout)):
        for item in box:
            line = _read_line(item, number)
            if line is not None and not any(_is_inside(line, table) for table in tables):
                lines.append(line)
    page.close()
    return Page(float(page.height), lines, tables)


def _is_inside(line: Line, table: Table) -> bool:
    x, y = (line.x0 + line.x1) / 2, (line.top + line.bottom) / 2
    return table.x0 <= x <= table.x1 and table.bottom <= y <= table.top


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
    if not characters:
        return None
    size, _ = Counter(round(c.size * 2) / 2 for c in characters).most_common(1)[0]

    def shown(part: Any) -> str:
        text: str = part.get_text()
        is_raised = isinstance(part, LTChar) and part.size < 0.8 * size and part.y0 > item.y0 + 0.2 * size
        return text.translate(RAISED) if is_raised and text.isdigit() else text

    text = plain_line("".join(map(shown, item)))
    bold = sum("bold" in c.fontname.lower() or "black" in c.fontname.lower() for c in characters)
    is_bold = bold > 0.9 * len(characters)
    return Line(text, box, item.x0, item.x1, item.y1, item.y0, size, is_bold) if text else None


def _metadata_title(metadata: dict[str, Any]) -> str | None:
    """Return the title in the metadata, unless it is a default or a file name."""
    title = metadata.get("Title")
    title = " ".join(title.split()) if isinstance(title, str) else ""
    is_default = title.lower().startswith(("untitled", "microsoft word", "microsoft powerpoint"))
    return None if is_default or len(title) < 4 or "." in title[-5:] else title
