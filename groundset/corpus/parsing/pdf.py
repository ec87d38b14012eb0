"""Parse PDFs: lines by pdfminer's layout analysis and tables by pdfplumber become Markdown.

Running heads are dropped, paragraphs are joined, and headings are found by their font.
"""

import io
import logging
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from statistics import mode
from typing import Any, NamedTuple

import pdfplumber
from pdfminer.layout import IndexAssigner, LAParams, LTChar, LTPage, LTTextBox, LTTextLine
from pdfminer.pdfdocument import PDFEncryptionError, PDFPasswordIncorrect
from pdfplumber.table import merge_edges
from pdfplumber.utils.exceptions import PdfminerException

from groundset.corpus.parsing import LOWERED, RAISED, Parsed, UnparsableError, clean
from groundset.corpus.parsing.markdown import heading_title, parse_converted, table_of
from groundset.corpus.parsing.pages import (
    HEADING_SCALE,
    Line,
    Page,
    PageTable,
    Rule,
    body_size,
    open_tables,
    without_running_heads,
)
from groundset.programs.text import one_line
from groundset.programs.types import PageStart

# Marks the start of a page in Markdown, between two characters that Unicode excludes from texts.
_MARK = "\ufdd0{}\ufdd1"
_MARKS = re.compile(_MARK.format(r"(\d+)"))
_NO_MARKS = dict.fromkeys(map(ord, _MARK.format("")))
_BULLET = re.compile(r"^[•‣▪●◦○–*-]\s+")
_ITEM = re.compile(r"^(?:[•‣▪●◦○–*-]\s|\(?\d{1,3}[.)]\s|\[\d{1,3}\]\s|\(?[a-z][.)]\s)")
_OPEN_END = re.compile(r"[^.!?:;…'\"”’)\]]$")
_BROKEN_WORD = re.compile(r"(?<![^\W\d_])([^\W\d_]+)-$")
_BROKEN_PLAIN_WORD = re.compile(r"(?:^|\s)[^\W\d_]+-$")
_FIRST_WORD = re.compile(r"^[^\W\d_]+")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
# Hebrew, Arabic and their kin are written from right to left, but not the numbers and foreign words
# within them.
_LEFTWARD = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc"
_RIGHTWARDS = re.compile(
    rf"[^\W\d_{_LEFTWARD}](?:[^{_LEFTWARD}]*[^\W_{_LEFTWARD}])?|[$€£₪%]?\d(?:[.,:/+-]?\d)*%?"
)
_MIRRORED = str.maketrans("()[]{}<>«»", ")(][}{><»«")
_MAX_HEADING, _MAX_BOLD_HEADING = 120, 70  # characters
_HYPHENATED = 0.02  # of the lines end in a broken word, in a document that hyphenates
_MAX_BETWEEN = 4  # blocks between the halves of a broken paragraph
_LONGEST_WORD = 200  # characters
_MIN_FILLED = 0.5
_MIN_RULE = 0.2  # of the page's width, for a rule of a table
_SCRIPT = 0.9  # of the size of the line; raised and lowered characters are smaller
_SCRIPTS = re.compile(r"[\d+−-][\d+−,-]*\Z|n\Z")
_MIN_ON_PICTURE = 40  # characters
_MAX_BOXES = (
    300  # of a page; one with more is read from top to bottom: finding the order takes cubic time
)
_MAX_EDGES = 20_000  # of a page; one with more is a drawing


class _Block(NamedTuple):
    kind: str  # "heading", "text" or "table"
    text: str
    size: float
    page: int
    last_page: int
    table: PageTable | None = None


def plain_line(text: str) -> str:
    """Return a text on one line, without the characters of page marks."""
    return one_line(text.translate(_NO_MARKS))


def split_page_marks(markdown: str) -> tuple[str, list[PageStart]]:
    """Remove the page marks of ``pages_to_markdown`` from a text and return their offsets; page 1
    has no mark.
    """
    parts = _MARKS.split(markdown)
    text, starts = parts[0], [PageStart(page=1, start=0)] if parts[0] else []
    for page, part in zip(parts[1::2], parts[2::2], strict=True):
        starts.append(PageStart(page=int(page), start=len(text)))
        text += part
    return text, starts


def pages_to_markdown(pages: Sequence[Page]) -> str:
    """Convert the pages of a document to one Markdown text, with a mark where a page changes."""
    body = body_size(pages)
    join = _Joiner([line for page in pages for line in page.lines])
    blocks = [
        block
        for number, page in enumerate(pages, 1)
        for block in _page_blocks(page, number, body, join)
    ]
    levels = sorted({block.size for block in blocks if block.kind == "heading"}, reverse=True)
    parts, current = [], 1
    for block in _join_split_paragraphs(_join_split_tables(blocks), join):
        mark = _MARK.format(block.page) if block.page != current else ""
        prefix = f"{'#' * min(levels.index(block.size) + 1, 6)} " if block.kind == "heading" else ""
        parts.append(mark + prefix + block.text)
        current = block.last_page
    return "\n\n".join(parts)


def _page_blocks(page: Page, number: int, body: float, join: "_Joiner") -> Iterator[_Block]:
    tables = sorted(page.tables, key=lambda table: -table.top)
    for _, lines in groupby(page.lines, key=lambda line: line.box):
        box = list(lines)
        while tables and tables[0].bottom >= box[0].top:
            yield _table_block(tables.pop(0), number)
        sizes = Counter(line.size for line in box)
        left = min(line.x0 for line in box)
        groups: list[tuple[str, list[Line]]] = []  # headings and paragraphs
        for line in box:
            kind = "heading" if _is_heading(line, sizes, body) else "text"
            above, group = groups[-1] if groups else ("", [])
            if kind != above or _begins(kind, line, group, left):
                groups.append((kind, [line]))
            else:
                group.append(line)
        for kind, group in groups:
            text = join([line.text for line in group])
            text = text if kind == "heading" else _BULLET.sub("- ", text)
            yield _Block(kind, text, group[0].size, number, number)
    for table in tables:
        yield _table_block(table, number)


def _table_block(table: PageTable, page: int) -> _Block:
    return _Block("table", table_of(table.rows), 0.0, page, page, table)


def _is_heading(line: Line, sizes: Counter[float], body: float) -> bool:
    """Return whether a line is a heading; ``sizes`` counts the lines of its box by font size."""
    text = line.text
    if len(text) > _MAX_HEADING or sum(map(str.isalpha, text)) < 3:
        return False
    if line.size >= body * HEADING_SCALE:
        return sizes[line.size] <= 3 and not text.endswith((",", ";"))
    # Bold text in body size is a heading only if it stands alone and reads like one.
    alone = sizes.total() == 1 and line.bold and line.size >= body
    return alone and len(text) <= _MAX_BOLD_HEADING and text[-1] not in ".,;:" and text[0].isupper()


def _begins(kind: str, line: Line, group: Sequence[Line], left: float) -> bool:
    """Return whether a line begins another heading or paragraph than the lines before it."""
    if kind == "heading":
        return line.size != group[0].size
    previous = group[-1]
    indented = line.x0 > left + 0.8 * line.size and previous.x0 <= left + 0.3 * line.size
    return bool(_ITEM.match(line.text) or (indented and not _ITEM.match(group[0].text)))


def _join_split_tables(blocks: Sequence[_Block]) -> list[_Block]:
    """Join tables that go on at the start of the next page, without their repeated header."""
    joined: list[_Block] = []
    for block in blocks:
        above = joined[-1] if joined else block
        if above.table and block.table and above.last_page + 1 == block.page:
            head, _, *rows = block.text.split("\n")
            is_repeated = above.text.startswith(f"{head}\n")
            if is_repeated or block.table.goes_on(above.table):
                rest = "\n".join(rows if is_repeated else [head, *rows])
                text = f"{above.text}\n{_MARK.format(block.page)}{rest}"
                joined[-1] = above._replace(text=text, last_page=block.page)
                continue
        joined.append(block)
    return joined


def _join_split_paragraphs(blocks: Sequence[_Block], join: "_Joiner") -> list[_Block]:
    """Join paragraphs that a page, column or caption splits in the middle of a sentence."""
    joined: list[_Block] = []
    for block in blocks:
        near = range(max(0, len(joined) - _MAX_BETWEEN), len(joined))
        alike = [
            n for n in near if joined[n].kind == "text" and abs(joined[n].size - block.size) <= 0.5
        ]
        is_rest = alike and block.kind == "text" and block.text[0].islower()
        if not is_rest or not _OPEN_END.search(joined[alike[-1]].text[-1:]):
            joined.append(block)
            continue
        broken = joined[alike[-1]]
        text = join([broken.text, block.text])
        if block.page != broken.last_page:
            start = len(text) - len(block.text)  # the joiner does not change the second part
            text = text[:start] + _MARK.format(block.page) + text[start:]
        joined[alike[-1]] = broken._replace(text=text, last_page=block.page)
    return joined


class _Joiner:
    """Joins lines, and rejoins hyphenated words by the vocabulary of the document."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self._words: set[str] = set()
        broken, after_break = 0, False
        for line in lines:
            text = _FIRST_WORD.sub("", line.text) if after_break else line.text
            after_break = bool(_BROKEN_WORD.search(text))
            # URLs break at their own hyphens, so only plain words show whether the document
            # hyphenates.
            broken += bool(_BROKEN_PLAIN_WORD.search(text))
            # The halves of a broken word are not in the vocabulary.
            self._words |= {word.casefold() for word in _WORD.findall(_BROKEN_WORD.sub("", text))}
        self._hyphenates = broken >= _HYPHENATED * len(lines)

    def __call__(self, parts: Sequence[str]) -> str:
        pieces = [parts[0]]
        for part in parts[1:]:
            text = pieces[-1][-_LONGEST_WORD:]
            head, tail = _BROKEN_WORD.search(text), _FIRST_WORD.match(part)
            if not head or not tail or not part[0].islower():
                tight = text.endswith(("-", "/")) and not text.endswith(" -") and part[0].isalnum()
                pieces.append(part if tight else f" {part}")
            elif self._is_compound(head[1].casefold(), tail[0].casefold()):
                pieces.append(part)
            else:
                pieces[-1] = pieces[-1][:-1] + part
        return "".join(pieces)

    def _is_compound(self, head: str, tail: str) -> bool:
        if {f"{head}-{tail}", head + tail} & self._words:
            return f"{head}-{tail}" in self._words
        return not self._hyphenates or (len(head) > 2 and {head, tail} <= self._words)


def parse_pdf(data: bytes) -> Parsed:
    """Parse a PDF into Markdown with joined paragraphs and headings by font size, without running
    heads.

    Raises:
        UnparsableError: it is encrypted, or has no text.
    """
    # pdfminer logs font problems and warns about extraction rights.
    for name in ("pdfminer", "pdfplumber"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        with (
            warnings.catch_warnings(),
            pdfplumber.open(io.BytesIO(data), laparams={"boxes_flow": None}) as pdf,
        ):
            warnings.simplefilter("ignore")
            pages = [_read_page(page) for page in pdf.pages]
            metadata = pdf.metadata or {}
    except PdfminerException as error:  # of a cause
        if isinstance(error.args[0], PDFPasswordIncorrect | PDFEncryptionError):
            raise UnparsableError("password-protected") from error
        raise error.args[0] from error
    shown, left_out = without_running_heads(pages)
    markdown, starts = split_page_marks(clean(pages_to_markdown(shown)))
    if not markdown:
        raise UnparsableError("no text (scanned pages?)" if pages else "no pages")
    bare = ", ".join(str(number) for number, page in enumerate(pages, 1) if _is_bare(page))
    parsed = parse_converted(markdown)
    return parsed._replace(
        title=heading_title(parsed.headings[:1]) or _metadata_title(metadata),
        # Lines that look like empty HTML are dropped, which shifts the text.
        pages=starts if parsed.text == markdown else (),
        left_out=left_out,
        note=f"no text on page {bare} of {len(pages)} (scanned?)" if bare else "",
    )


def _is_bare(page: Page) -> bool:
    least = _MIN_ON_PICTURE if page.is_picture else 1
    return not page.tables and sum(len(line.text) for line in page.lines) < least


def _read_page(page: Any) -> Page:
    is_leftward = _is_leftward("".join(c["text"] for c in page.chars))
    boxes = enumerate(_boxes_in_order(page.layout, is_leftward))
    found = (_read_line(item, number) for number, box in boxes for item in box)
    lines = [line for line in found if line is not None]
    tables: list[PageTable] = []
    if len(page.edges) <= _MAX_EDGES:
        tables += _read_tables(page)
        tables += open_tables(lines, list(_rules(page, tables)))
    lines = [line for line in lines if not any(table.holds(line) for table in tables)]
    lines = [line._replace(x0=-line.x1, x1=-line.x0) for line in lines] if is_leftward else lines
    area = sum(
        (image["x1"] - image["x0"]) * (image["bottom"] - image["top"]) for image in page.images
    )
    page.close()
    return Page(float(page.height), lines, tables, area > page.width * page.height / 2)


def _read_tables(page: Any) -> Iterator[PageTable]:
    # Frames around text are found as tables too.
    found = [
        table
        for table in page.find_tables()
        if len(table.rows) > 1 and len(table.rows[0].cells) > 1
    ]
    for table in found:
        rows = [
            [plain_line("\n".join(map(_as_read, (c or "").splitlines()))) for c in row]
            for row in table.extract()
        ]
        cells = [cell for row in rows for cell in row]
        if sum(map(bool, cells)) >= _MIN_FILLED * len(cells):
            x0, top, x1, bottom = table.bbox
            first = page.crop(table.rows[0].bbox, strict=False).chars
            is_headed = all(_is_bold(character["fontname"]) for character in first)
            yield PageTable(x0, page.height - top, x1, page.height - bottom, rows, is_headed)


def _rules(page: Any, ruled: Sequence[PageTable]) -> Iterator[Rule]:
    """Yield the horizontal rules outside ruled tables, each as long as the pieces it is made of."""
    for edge in merge_edges(page.horizontal_edges, 3, 3, 3, 3):
        y = float(page.height - edge["top"])
        if edge["width"] >= _MIN_RULE * page.width and not any(
            table.bottom - 1 <= y <= table.top + 1 for table in ruled
        ):
            # Those of one table differ by less than this.
            yield Rule(5 * round(edge["x0"] / 5), 5 * round(edge["x1"] / 5), y)


def _boxes_in_order(layout: LTPage, is_leftward: bool) -> list[LTTextBox]:
    """Return the text boxes of a page in reading order, column by column."""
    boxes = [item for item in layout if isinstance(item, LTTextBox)]
    for box in boxes if is_leftward else ():  # the order is that of the mirrored page
        box.set_bbox((layout.width - box.x1, box.y0, layout.width - box.x0, box.y1))
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
    size = mode(round(c.size * 2) / 2 for c in characters)
    base = mode(round(c.y0) for c in characters if c.size >= _SCRIPT * size)

    def place(part: Any) -> int:
        """Return 1 for a small character that is raised, -1 for a lowered one."""
        is_small = isinstance(part, LTChar) and part.size < _SCRIPT * size
        return (part.y0 > base + 0.15 * size) - (part.y0 < base - 0.1 * size) if is_small else 0

    parts = (
        (side, "".join(part.get_text() for part in group))
        for side, group in groupby(item, key=place)
    )
    shown = (
        part.translate(RAISED if side > 0 else LOWERED) if side and _SCRIPTS.match(part) else part
        for side, part in parts
    )
    text = plain_line("".join(shown))
    text = _as_read(text) if characters[0].x0 < characters[-1].x0 else text
    bold = sum(_is_bold(c.fontname) for c in characters) > 0.9 * len(characters)
    return Line(text, box, *(item.x0, item.x1, item.y1, item.y0), size, bold)


def _is_bold(font: str) -> bool:
    return re.search("bold|black", font, re.IGNORECASE) is not None


def _is_leftward(text: str) -> bool:
    return 2 * len(re.findall(f"[{_LEFTWARD}]", text)) > sum(map(str.isalpha, text))


def _as_read(seen: str) -> str:
    """Return a line as it is read; PDFs hold lines from right to left as they are seen, with the
    last letter first.
    """

    def mirrored(text: str) -> str:
        return text[::-1].translate(_MIRRORED)

    if not _is_leftward(seen):
        return seen
    return mirrored(_RIGHTWARDS.sub(lambda found: mirrored(found[0]), seen))


def _metadata_title(metadata: dict[str, Any]) -> str | None:
    """Return the title in the metadata, unless it is a default or a file name."""
    title = metadata.get("Title")
    title = one_line(title) if isinstance(title, str) else ""
    is_default = title.lower().startswith(("untitled", "microsoft word", "microsoft powerpoint"))
    return None if is_default or len(title) < 4 or "." in title[-5:] else title
