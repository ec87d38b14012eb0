"""Find tables in a document, so that chunks keep them whole and name them.

A table is a Markdown table with a header, a line of dashes and at least one more row. A caption is a paragraph before
or after it that starts with words such as "Table 3" in a known language, or that is marked as a caption in HTML.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Literal, NamedTuple

from groundset.corpus.cutting.structure import FENCE, Span, blocks, line_spans
from programs.languages import LANGUAGES
from programs.text import plain
from programs.types import Document

_DELIMITERS = "|:- \t\n"  # all characters of the line below a header
_HEADER_LINES = 3  # the header, the line of dashes and the first row stay together
_MAX_CAPTION = 500  # characters; longer paragraphs are text
_MARKUP = "#>*_( \t"  # before a caption
_NUMBER = r"(?:[A-Z]{1,2}[.-]?)?\d{1,3}(?:[.–-]\d{1,3})*[a-zA-Z]?|[IVXLC]{1,6}"
# "Table 2 shows" starts a sentence: after the number, a caption has punctuation, or a word that is not in lower case.
_AFTER = r"\s?[.:–—|)*_-]|\s*\Z|\s+[^a-zß-ÿ\s]"


class Table(NamedTuple):
    """A table.

    Attributes:
        rows: the parts that a cut must not divide; they contain the caption.
        start: where it starts, without a caption before it.
        caption: the text of the caption, possibly empty.
        header: the header row; empty if its cells are.
    """

    rows: tuple[Span, ...]
    start: int
    caption: str
    header: str


class _Part(NamedTuple):
    """A paragraph, a heading, code, or a table with its lines."""

    kind: Literal["text", "heading", "code", "table"]
    start: int
    end: int
    lines: Sequence[Span] = ()


def tables_of(document: Document) -> list[Table]:
    """Return the tables of a document, in order and apart."""
    text, marked = document.text, frozenset(document.captions)
    parts = list(_parts(document))
    captions = {number: span for number, part in enumerate(parts) if (span := _caption(text, part, marked))}
    found = []
    for number, part in enumerate(parts):
        if part.kind == "table":
            found.append(_table(text, part, captions.pop(_caption_index(number, parts, captions), None)))
    return found


def described(tables: Sequence[Table], span: Span) -> dict[str, Any]:
    """Return the metadata of a chunk about its tables: ``kind``, ``caption``, and the ``header`` of a cut one."""
    first = bisect_right(tables, span.start, key=lambda table: table.rows[-1].end)
    inside = tables[first : bisect_left(tables, span.end, key=lambda table: table.start)]
    if not inside:
        return {}
    caption = "; ".join(table.caption for table in inside if table.caption)
    header = inside[0].header if inside[0].start < span.start else ""
    return {"kind": "table"} | ({"caption": caption} if caption else {}) | ({"header": header} if header else {})


def _parts(document: Document) -> Iterator[_Part]:
    """Split a document into paragraphs, headings, code and tables."""
    text = document.text
    headings = {heading.start for heading in document.headings}
    for block in blocks(text, 0, len(text)):
        lines = list(line_spans(text, block))
        contents = [text[line.start : line.end] for line in lines]
        if any(map(FENCE.match, contents)) or all(content.startswith("    ") for content in contents):
            yield _Part("code", *block)
            continue
        first = number = 0
        while number < len(lines):
            end = number + 1
            kind: Literal["heading", "table"] | None = "heading" if lines[number].start in headings else None
            if not kind and "|" in contents[number] and end < len(lines) and _is_delimiter(contents[end]):
                while end < len(lines) and "|" in contents[end] and lines[end].start not in headings:
                    end += 1
                kind = "table" if end - number >= _HEADER_LINES else None
            if kind:
                if first < number:
                    yield _Part("text", lines[first].start, lines[number].start)
                yield _Part(kind, lines[number].start, lines[end - 1].end, lines[number:end])
                first = end
            number = end
        if first < len(lines):
            yield _Part("text", lines[first].start, block.end)


def _is_delimiter(line: str) -> bool:
    return "|" in line and "-" in line and not line.strip(_DELIMITERS)


def _caption(text: str, part: _Part, marked: Collection[str]) -> Span | None:
    """Return the caption of a table that a paragraph is or ends with."""
    if part.kind not in {"text", "heading"} or part.end - part.start > 2 * _MAX_CAPTION:
        return None
    for line in reversed(list(line_spans(text, Span(part.start, part.end)))):
        if _label().match(text[line.start : line.end].lstrip(_MARKUP)):
            return Span(line.start, part.end) if len(_shown(text[line.start : part.end])) <= _MAX_CAPTION else None
    return Span(part.start, part.end) if _shown(text[part.start : part.end]) in marked else None


def _shown(text: str) -> str:
    return " ".join(plain(text).split()).lstrip("# ")


@cache
def _label() -> re.Pattern[str]:
    labels = "|".join(language.table_label for language in LANGUAGES.values())
    return re.compile(rf"(?i:{labels})\s?(?:(?>{_NUMBER})(?:{_AFTER})|:)")


def _caption_index(table: int, parts: Sequence[_Part], captions: Mapping[int, Span]) -> int:
    """Return the index of the caption before a table, or else after it; -1 if there is none."""
    after = table + 1
    if table - 1 in captions:
        return table - 1
    if after not in captions or parts[after].kind == "heading" or captions[after].start > parts[after].start:
        return -1
    # Between two tables it belongs to the second, unless that one has another caption below.
    followed = after + 1 < len(parts) and parts[after + 1].kind == "table"
    return -1 if followed and after + 2 not in captions else after


def _table(text: str, part: _Part, caption: Span | None) -> Table:
    rows = [Span(part.start, part.lines[_HEADER_LINES - 1].end), *part.lines[_HEADER_LINES:]]
    if caption and caption.start < part.start:
        rows[0] = Span(caption.start, rows[0].end)
    elif caption:
        rows[-1] = Span(rows[-1].start, caption.end)
    header = " ".join(text[part.start : part.lines[0].end].split())
    shown = _shown(text[caption.start : caption.end]) if caption else ""
    return Table(tuple(rows), part.start, shown, header if header.strip("| ") else "")
