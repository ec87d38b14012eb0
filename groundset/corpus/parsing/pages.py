"""Pages of PDFs: their lines and tables, and which lines are running heads and page numbers."""

import math
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from itertools import groupby, pairwise
from statistics import mode
from typing import NamedTuple

from groundset.corpus.parsing import left_out_line

HEADING_SCALE = 1.12  # of the size of the text
_MARGIN = 0.12  # of the page's height, for running heads and page numbers
_PAGE = (
    r"(?:page|pages?|seite|página|pagina|pág|pag|pg|p|s|strona|strana|stránka|str|side|sida|sivu|"
    r"oldal|blad|страница|стр|σελίδα|صفحة|第)\b\.?"
)
_PAGE_NUMBER = re.compile(
    rf"[\W_]*(?:{_PAGE}\s*|第\s*)?(?P<number>\d{{1,4}}|[ivxl]{{1,6}})"
    r"(?:\s*(?:of|von|de|sur|di|van|z|av|af|из|/)\s*\d{1,4})?\s*(?:页|頁|ページ|쪽)?[\W_]*",
    re.IGNORECASE,
)
# Between a page number and the text beside it; a number within a sentence or a name counts nothing.
_APART = re.compile(rf"\s+[–—-]\s+|\s*[|•·]\s*|,\s+|\s+(?={_PAGE}\s*\d)", re.IGNORECASE)
_WORDS = re.compile(r"[^\W_]+")
_FIRST_YEAR = 1000  # a larger number at the top of a page is a year
_SENTENCE_END = re.compile(r"[.!?:;]$")
_GAP = 1.5  # sizes of a line, between a running head and the text
_PROSE_WORDS = 5  # in each cell of a line of prose in columns
_KNOWN = 1 / 3  # of the lines at a place have a word that the running heads there share


class Line(NamedTuple):
    """A line of text on a page; ``top`` and ``bottom`` count upwards from the page's lower edge."""

    text: str
    box: int
    x0: float
    x1: float
    top: float
    bottom: float
    size: float
    bold: bool


class PageTable(NamedTuple):
    """A ruled table on a page."""

    x0: float
    top: float
    x1: float
    bottom: float
    rows: list[list[str]]
    is_headed: bool = False  # its first row is bold

    def holds(self, line: Line) -> bool:
        """Return whether the middle of a line lies in it."""
        x, y = (line.x0 + line.x1) / 2, (line.top + line.bottom) / 2
        return self.x0 <= x <= self.x1 and self.bottom <= y <= self.top

    def goes_on(self, above: "PageTable") -> bool:
        """Return whether it can be the rest of a table on the page before."""
        return not self.is_headed and len(self.rows[0]) == len(above.rows[0])


class Page(NamedTuple):
    """A page: its height, its lines in reading order outside tables, its tables, and whether it is
    a picture.
    """

    height: float
    lines: list[Line]
    tables: list[PageTable]
    is_picture: bool = False


class Rule(NamedTuple):
    """A horizontal rule on a page."""

    x0: float
    x1: float
    y: float


class _Margin(NamedTuple):
    """A line in the margin of a page."""

    page: int
    line: Line
    is_above: bool
    gap: float  # to the text

    @property
    def parts(self) -> list[str | int]:
        """Its words and page numbers; of these, how far they are from the number of the page."""
        parts: list[str | int] = []
        for part in _APART.split(self.line.text):
            number = self._page_number(part)
            parts += _WORDS.findall(part.casefold()) if number is None else [number - self.page]
        return parts

    def is_apart(self, body: float) -> bool:
        """Return whether it is a small line apart from the text, and no sentence."""
        line = self.line
        is_small = line.size < body or (line.size == body and not line.bold)
        is_far = self.gap >= _GAP * line.size
        return is_small and is_far and not _SENTENCE_END.search(line.text)

    def _page_number(self, text: str) -> int | None:
        found = _PAGE_NUMBER.fullmatch(text)
        if not found:
            return None
        shown = found["number"]
        number = int(shown) if shown.isdecimal() else self.page
        is_year = self.is_above and number >= _FIRST_YEAR and number != self.page
        return None if is_year else number


def body_size(pages: Sequence[Page]) -> float:
    """Return the font size of most characters."""
    sizes = [line.size for page in pages for line in page.lines for _ in line.text]
    return mode(sizes or [0.0])


def without_running_heads(pages: Sequence[Page]) -> tuple[list[Page], list[str]]:
    """Drop what in the margins is the same on most pages or counts with them, and name it."""
    margins = [margin for number, page in enumerate(pages, 1) for margin in _margins(page, number)]
    dropped = {(head.page, head.line) for head in _heads(margins, pages)}
    kept = [
        page._replace(lines=[line for line in page.lines if (number, line) not in dropped])
        for number, page in enumerate(pages, 1)
    ]
    texts: dict[str, list[str]] = {}
    for _, line in sorted(dropped):
        texts.setdefault(re.sub(r"\d+", "#", line.text), []).append(line.text)
    return kept, [left_out_line("running head", found) for found in texts.values()]


def open_tables(lines: Sequence[Line], rules: Sequence[Rule]) -> Iterator[PageTable]:
    """Yield tables that have rules above and below and no cells, as lines that stand in columns."""
    for (left, right), group in groupby(sorted(rules), key=lambda rule: rule[:2]):
        heights = [rule.y for rule in group][::-1]
        cells: list[Line] = []
        top = heights[0]
        for above, below in pairwise([*heights, heights[-1]]):
            area = PageTable(left - 5, above, right + 5, below, [])
            band = [line for line in lines if area.holds(line)]
            if band and len(_columns([*cells, *band])) > 1:
                cells += band
                continue
            rows = _rows(cells)
            if len(rows) > 1:
                yield PageTable(left, top, right, above, rows)
            cells, top = [], below


def _columns(cells: Sequence[Line]) -> list[float]:
    """Return where the columns begin that no cell crosses."""
    starts: list[float] = []
    right = -math.inf
    for cell in sorted(cells, key=lambda cell: cell.x0):
        if cell.x0 > right:
            starts.append(cell.x0)
        right = max(right, cell.x1)
    return starts


def _rows(cells: Sequence[Line]) -> list[list[str]]:
    """Return the rows of a table; none if they are lines of prose in columns."""
    starts = _columns(cells)
    lines: list[list[str]] = []
    bottom = math.inf
    for cell in sorted(cells, key=lambda cell: (-round(cell.bottom), cell.x0)):
        if bottom - cell.bottom > cell.size / 2:
            lines.append([""] * len(starts))
        bottom = cell.bottom
        column = bisect_right(starts, cell.x0) - 1
        lines[-1][column] = f"{lines[-1][column]} {cell.text}".strip()
    prose = sum(min(len(text.split()) for text in line) >= _PROSE_WORDS for line in lines)
    rows: list[list[str]] = []
    for line in lines if 2 * prose <= len(lines) else ():
        # A cell that goes on below stands alone, or beside others that do.
        if rows and not line[0] and line.count("") > (len(line) > 2):
            rows[-1] = [" ".join(filter(None, pair)) for pair in zip(rows[-1], line, strict=True)]
        else:
            rows.append(line)
    return rows


def _margins(page: Page, number: int) -> Iterator[_Margin]:
    for line in page.lines:
        is_above = line.bottom > page.height * (1 - _MARGIN)
        if is_above or line.top < page.height * _MARGIN:
            parts: list[Line | PageTable] = [*page.lines, *page.tables]
            gaps = (
                line.bottom - part.top if is_above else part.bottom - line.top for part in parts
            )
            yield _Margin(number, line, is_above, min((gap for gap in gaps if gap > 0), default=0))


def _is_most(pages: set[int], count: int) -> bool:
    """Return whether some pages are half of all, or of the odd or the even ones."""
    every = range(1, count + 1)
    parts = (every, every[::2], every[1::2])
    return any(len(pages.intersection(part)) >= max(2, len(part) / 2) for part in parts)


def _heads(margins: Sequence[_Margin], pages: Sequence[Page]) -> Iterator[_Margin]:
    """Yield the numbers of pages, and lines that stand in their place on most pages, the same but
    for a page number, or alike.
    """
    body = body_size(pages)
    headings = {
        " ".join(_WORDS.findall(line.text.casefold()))
        for page in pages
        for line in page.lines
        if line.size >= body * HEADING_SCALE or (line.bold and line.size >= body)
    }
    places: defaultdict[Hashable, list[_Margin]] = defaultdict(list)
    for margin in margins:
        places[margin.is_above, round(margin.line.bottom / 3), margin.line.size].append(margin)
        if margin.parts == [0]:  # the number of this page, and nothing else
            yield margin
    for members in places.values():
        alike = list(_alike([each for each in members if each.is_apart(body)], headings))
        same = defaultdict[Hashable, list[_Margin]](list)
        for member in members:
            same[tuple(member.parts)].append(member)
        for heads in (alike, *same.values()):
            if _is_most({head.page for head in heads}, len(pages)):
                yield from heads


def _alike(members: Sequence[_Margin], headings: set[str]) -> Iterator[_Margin]:
    """Yield lines that share most of their words with others, or have the name of a chapter."""
    texts = Counter(member.line.text for member in members)
    words = Counter(part for member in members for part in set(member.parts))
    known = {word for word, seen in words.items() if seen >= max(2, _KNOWN * len(members))}
    for member in members:
        own = " ".join(str(part) for part in member.parts if part not in known)
        whole = " ".join(map(str, member.parts))
        is_alike = 2 * len(own.split()) < len(member.parts) and not re.search(r"\d", own)
        if texts[member.line.text] > 1 or is_alike or {own, whole} & headings:
            yield member
