"""Find the parts of a document that are not cut like the rest: tables, which chunks keep whole and
name, and listings.

A table is a Markdown table with a header, a line of dashes and at least one more row. A caption is
a paragraph before or after it that starts with words such as "Table 3" in a known language, or that
is marked as a caption in HTML.

A listing, of sources, links or contents, is left out. It is a section whose heading names it in a
known language ("References") and whose lines are hardly ever sentences; or the sections at the end
of the document behind it if none of them has a sentence (navigation).
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from groundset.corpus.chunkers import FENCE, Span, blocks, heading_end, is_indented, line_spans
from groundset.programs.languages import LANGUAGES
from groundset.programs.text import one_line, plain
from groundset.programs.types import Document

_ROW = r"^(?=[^\n]*\|)[^\n]*"
_TABLE = re.compile(
    rf"{_ROW}\n(?=[^\n]*\|)(?=[^\n]*-)[|: \t-]+\n(?:{_ROW}(?:\n|\Z))+", re.MULTILINE
)
_HEADER_LINES = 3  # the header, the line of dashes and the first row stay together
_MAX_CAPTION = 500  # characters; longer paragraphs are text
_MARKUP = "#>*_( \t"  # before a caption
_NUMBER = r"(?:[A-Z]{1,2}[.-]?)?\d{1,3}(?:[.–-]\d{1,3})*[a-zA-Z]?|[IVXLC]{1,6}"
# "Table 2 shows" starts a sentence: after the number, a caption has punctuation, or a word that is
# not in lower case.
_AFTER = r"\s?[.:–—|)*_-]|\s*\Z|\s+[^a-zß-ÿ\s]"
_EDGES = re.compile(r"^[\W\d_]+|[\W_]+$")
_ITEM = re.compile(r"(?:[-*+•·|]|\(?\d{1,3}[.)]|\(?[a-z][.)]|\[\^?\w{1,4}\]:?)\s+")
_ENDING = (
    60  # characters at the end of a line in which patterns are searched, because lines can be long
)
_SENTENCE_END = re.compile(r"[.!?…]['\"”’»)\]]*(?:\[\w{1,4}\])*\s*$")
_PAGES = re.compile(r"\d\s?[:;(]\s?\d|\d[–-]\d|[↑^]")
_WORD = re.compile(r"[^\W\d_]+")
_MAX_NAME = 60  # characters
_MIN_SENTENCE = 40  # characters; shorter lines may be titles or names
_LOWER_CASE = 0.5  # of the words of a sentence: it has 8 in 10 in English, 6 in 10 in German
_MAX_SENTENCES = 0.2  # of the characters of a list
_LABELS = "|".join(language.table_label for language in LANGUAGES.values())
_LABEL = re.compile(rf"(?i:{_LABELS})\s?(?:(?>{_NUMBER})(?:{_AFTER})|:)")
_NAMES = frozenset().union(*(language.listings for language in LANGUAGES.values()))


class Table(NamedTuple):
    """A table."""

    rows: tuple[Span, ...]  # the parts that a cut must not divide; they contain the caption
    start: int  # without a caption before it
    caption: str  # its text, possibly empty
    header: str  # the header row; empty if its cells are


def tables_of(document: Document) -> list[Table]:
    """Return the tables of a document, in order and apart."""
    text, tables = document.text, list(_lines_of_tables(document.text))
    found = []
    for lines, caption in zip(tables, _captions(document, tables), strict=True):
        rows = [Span(lines[0].start, lines[_HEADER_LINES - 1].end), *lines[_HEADER_LINES:]]
        shown = ""
        if caption:
            shown = _shown(text[slice(*caption)])
            rows[0] = Span(min(caption.start, rows[0].start), rows[0].end)
            rows[-1] = Span(rows[-1].start, max(caption.end, rows[-1].end))
        header = one_line(text[slice(*lines[0])])
        header = header if header.strip("| ") else ""
        found.append(Table(tuple(rows), lines[0].start, shown, header))
    return found


def described(tables: Sequence[Table], span: Span) -> dict[str, Any]:
    """Return the metadata of a chunk about its tables: ``kind``, ``caption``, and the ``header`` of
    a cut one.
    """
    first = bisect_right(tables, span.start, key=lambda table: table.rows[-1].end)
    inside = tables[first : bisect_left(tables, span.end, key=lambda table: table.start)]
    if not inside:
        return {}
    found = {
        "kind": "table",
        "caption": "; ".join(table.caption for table in inside if table.caption),
        "header": inside[0].header if inside[0].start < span.start else "",
    }
    return {name: value for name, value in found.items() if value}


def _lines_of_tables(text: str) -> Iterator[list[Span]]:
    for block in blocks(text, 0, len(text)):
        lines = line_spans(text, block)
        is_code = any(FENCE.match(text, *line) for line in lines) or is_indented(text, lines)
        for table in () if is_code else _TABLE.finditer(text, *block):
            yield line_spans(text, Span(*table.span()))


def _captions(document: Document, tables: Sequence[Sequence[Span]]) -> Iterator[Span | None]:
    """Yield the caption of each table: that before it, or else that after it."""
    text, marked = document.text, frozenset(document.captions)
    headings = [*(heading.start for heading in document.headings), len(text)]
    edges = [0, *(edge for lines in tables for edge in (lines[0].start, lines[-1].end)), len(text)]
    gaps = [Span(*gap) for gap in zip(edges[::2], edges[1::2], strict=True)]
    below = [
        _first_caption(text, Span(start, min(end, headings[bisect_left(headings, start)])), marked)
        for start, end in gaps
    ]
    used = 0
    for number, (above, gap) in enumerate(pairwise(gaps), 1):
        caption = _last_caption(text, above, marked)
        if caption is None or caption.start < used:
            caption = below[number]
            # Between two tables it belongs to the second, unless that one has another caption
            # below.
            is_next = caption and not text[caption.end : gap.end].strip()
            if is_next and number < len(tables) and not below[number + 1]:
                caption = None
        used = caption.end if caption else used
        yield caption


def _last_caption(text: str, gap: Span, marked: Collection[str]) -> Span | None:
    """Return the caption at the end of what stands above a table."""
    end = gap.start + len(text[slice(*gap)].rstrip())
    *_, paragraph = text[max(gap.start, end - 2 * _MAX_CAPTION) : end].split("\n\n")
    start = end - len(paragraph)
    for line in reversed(line_spans(text, Span(start, end))):
        if _LABEL.match(text[slice(*line)].lstrip(_MARKUP)):
            is_text = len(_shown(text[line.start : end])) > _MAX_CAPTION
            return None if is_text else Span(line.start, end)
    return Span(start, end) if _shown(paragraph) in marked else None


def _first_caption(text: str, gap: Span, marked: Collection[str]) -> Span | None:
    """Return the caption at the start of what stands below a table."""
    content = text[gap.start : min(gap.end, gap.start + 2 * _MAX_CAPTION)]
    paragraph, *_ = content.lstrip("\n").split("\n\n")
    start, shown = gap.start + content.index(paragraph), _shown(paragraph)
    is_caption = _LABEL.match(paragraph.lstrip(_MARKUP)) or shown in marked
    is_short = 0 < len(shown) <= _MAX_CAPTION
    return Span(start, start + len(paragraph)) if is_caption and is_short else None


def _shown(text: str) -> str:
    return one_line(plain(text)).lstrip("# ")


def text_spans(document: Document) -> list[Span]:
    """Return the parts of a document that are no lists of sources, links or contents."""
    spans, start = [], 0
    for listing in sorted(_named_sections(document)):
        spans.append(Span(start, listing.start))
        start = max(start, listing.end)
    spans.append(Span(start, len(document.text)))
    return [span for span in spans if document.text[slice(*span)].strip()]


def _named_sections(document: Document) -> Iterator[Span]:
    text = document.text
    levels = {heading.start: heading.level for heading in document.headings}
    names = {heading.start for heading in document.headings if _names_list(heading.text)}
    # Lines with the name of a list that the parser missed are headings below all others.
    lowest = max(levels.values(), default=0)
    for start, end in line_spans(text, Span(0, len(text))):
        is_heading = start in levels or _ITEM.match(text, start)
        if not is_heading and _names_list(text[start:end]):
            levels[start] = lowest
            names.add(start)
    starts = sorted(levels)
    last = len(text)
    for start in sorted(names):
        body = heading_end(text, start)
        # a section ends at the next one of its level or above
        behind = (starts[n] for n in range(bisect_right(starts, start), len(starts)))
        end = next((each for each in behind if levels[each] <= levels[start]), len(text))
        if text[body:end].strip() and _sentence_share(text, body, end) <= _MAX_SENTENCES:
            last = end
            yield Span(start, end)
    if not _sentence_share(text, last, len(text)):
        yield Span(last, len(text))


def _names_list(heading: str) -> bool:
    return (
        len(heading) <= _MAX_NAME
        and _EDGES.sub("", heading.strip().removesuffix("[edit]")).lower() in _NAMES
    )


def _sentence_share(text: str, start: int, end: int) -> float:
    """Return the share of characters in lines that are sentences."""
    lines = [text[slice(*line)].strip() for line in line_spans(text, Span(start, end))]
    return sum(len(line) for line in lines if _is_sentence(line)) / (sum(map(len, lines)) or 1)


def _is_sentence(line: str) -> bool:
    item = _ITEM.match(line)
    line = line[item.end() :] if item else line
    if (
        len(line) < _MIN_SENTENCE
        or not _SENTENCE_END.search(line[-_ENDING:])
        or _PAGES.search(line)
    ):
        return False
    words = _WORD.findall(line)
    is_source = any(language.citation.search(line) for language in LANGUAGES.values())
    return not is_source and sum(map(str.islower, words)) >= _LOWER_CASE * len(words)
