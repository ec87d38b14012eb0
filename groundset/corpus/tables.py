"""Find tables and captioned figures in a document, so that chunks keep them whole and name them.

A table is a Markdown table with a header, a line of dashes and at least one more row. A caption is a paragraph before
or after it that starts with words such as "Table 3" in a known language, or that is marked as a caption in HTML.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Literal, NamedTuple

from groundset.corpus.structure import FENCE, Span, blocks, line_spans
from programs.languages import LANGUAGES
from programs.text import plain
from programs.types import Document

_IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)\s*\Z")
_MAX_IMAGE = 2_000  # characters
_DELIMITERS = "|:- \t\n"  # all characters of the line below a header
_HEADER_LINES = 3  # the header, the line of dashes and the first row stay together
_MAX_CAPTION = 500  # characters; longer paragraphs are text
_MARKUP = "#>*_( \t"  # before a caption
_NUMBER = r"(?:[A-Z]{1,2}[.-]?)?\d{1,3}(?:[.–-]\d{1,3})*[a-zA-Z]?|[IVXLC]{1,6}"
# "Table 2 shows" starts a sentence: after the number, a caption has punctuation, or a word that is not in lower case.
_AFTER = r"\s?[.:–—|)*_-]|\s*\Z|\s+[^a-zß-ÿ\s]"


class TableOrFigure(NamedTuple):
    """A table or a captioned figure.

    Attributes:
        kind: which of them.
        rows: the parts that a cut must not divide; they contain the caption.
        start: where a table starts, without a caption before it.
        caption: the text of the caption, possibly empty.
        header: the header row of a table; empty if its cells are.
    """

    kind: Literal["table", "figure"]
    rows: tuple[Span, ...]
    start: int
    caption: str
    header: str = ""


class _Part(NamedTuple):
    """A paragraph, a heading, code, or a table with its lines."""

    kind: Literal["text", "heading", "code", "table"]
    start: int
    end: int
    lines: tuple[Span, ...] = ()


class _Caption(NamedTuple):
    """A caption; the kind is None if its words do not say what it belongs to."""

    start: int
    end: int
    text: str
    kind: Literal["table", "figure"] | None


def tables_and_figures(document: Document) -> list[TableOrFigure]:
    """Return the tables and captioned figures of a document, in order and apart."""
    text, marked = document.text, frozenset(document.captions)
    parts = list(_parts(document))
    found = [(number, _caption(text, part, marked)) for number, part in enumerate(parts)]
    captions = {number: caption for number, caption in found if caption is not None}
    tables = []
    for number, part in enumerate(parts):
        if part.kind == "table":
            caption = captions.pop(_caption_index(number, parts, captions), None)
            tables.append(_table(text, part, caption))
    return sorted([*tables, *_figures(text, parts, captions)], key=lambda each: each.rows)


def described(found: Sequence[TableOrFigure], span: Span) -> dict[str, Any]:
    """Return the metadata of a chunk about its tables, or else its figures.

    These are ``kind``, ``caption`` and, if it starts inside a table, the ``header`` of that table.
    """
    first = bisect_right(found, span.start, key=lambda each: each.rows[-1].end)
    inside = found[first : bisect_left(found, span.end, key=lambda each: each.start)]
    tables = [each for each in inside if each.kind == "table"]
    named = tables or inside
    if not named:
        return {}
    metadata = {"kind": named[0].kind, "caption": "; ".join(each.caption for each in named if each.caption)}
    if named[0].start < span.start:
        metadata["header"] = named[0].header
    return {name: value for name, value in metadata.items() if value}


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
                yield _Part(kind, lines[number].start, lines[end - 1].end, tuple(lines[number:end]))
                first = end
            number = end
        if first < len(lines):
            yield _Part("text", lines[first].start, block.end)


def _is_delimiter(line: str) -> bool:
    return "|" in line and "-" in line and not line.strip(_DELIMITERS)


def _caption(text: str, part: _Part, marked: Collection[str]) -> _Caption | None:
    """Return the caption that a paragraph is or ends with."""
    if part.kind not in {"text", "heading"} or part.end - part.start > _MAX_CAPTION + _MAX_IMAGE:
        return None
    for line in reversed(list(line_spans(text, Span(part.start, part.end)))):
        label = _labels().match(text[line.start : line.end].lstrip(_MARKUP))
        if label:
            shown = _shown(text[line.start : part.end])
            kind: Literal["table", "figure"] = "table" if label["table"] else "figure"
            return _Caption(line.start, part.end, shown, kind) if len(shown) <= _MAX_CAPTION else None
    shown = _shown(text[part.start : part.end]) if marked else ""
    return _Caption(part.start, part.end, shown[:_MAX_CAPTION], None) if shown in marked else None


def _shown(text: str) -> str:
    return " ".join(plain(text).split()).lstrip("# ")


@cache
def _labels() -> re.Pattern[str]:
    tables = "|".join(filter(None, (language.table_label for language in LANGUAGES.values())))
    figures = "|".join(filter(None, (language.figure_label for language in LANGUAGES.values())))
    return re.compile(rf"(?i:(?P<table>{tables})|(?P<figure>{figures}))\s?(?:(?>{_NUMBER})(?:{_AFTER})|:)")


def _caption_index(table: int, parts: Sequence[_Part], captions: Mapping[int, _Caption]) -> int:
    """Return the index of the caption before a table, or else after it; -1 if there is none."""

    def is_caption(index: int) -> bool:
        return index in captions and captions[index].kind != "figure"

    after = table + 1
    if is_caption(table - 1):
        return table - 1
    if not is_caption(after) or parts[after].kind == "heading" or captions[after].start > parts[after].start:
        return -1
    # Between two tables it belongs to the second, unless that one has another caption below.
    followed = after + 1 < len(parts) and parts[after + 1].kind == "table"
    return -1 if followed and not is_caption(after + 2) else after


def _table(text: str, part: _Part, caption: _Caption | None) -> TableOrFigure:
    rows = [Span(part.start, part.lines[_HEADER_LINES - 1].end), *part.lines[_HEADER_LINES:]]
    if caption and caption.start < part.start:
        rows[0] = Span(caption.start, rows[0].end)
    elif caption:
        rows[-1] = Span(rows[-1].start, caption.end)
    header = " ".join(text[part.start : part.lines[0].end].split())
    header = header if header.strip("| ") else ""
    return TableOrFigure("table", tuple(rows), part.start, caption.text if caption else "", header)


def _figures(text: str, parts: Sequence[_Part], captions: Mapping[int, _Caption]) -> Iterator[TableOrFigure]:
    """Yield the captions of figures, each with the picture before or else after it."""
    done = -1
    for number, caption in captions.items():
        if caption.kind == "table" or parts[number].kind != "text":
            continue
        start, end = parts[number].start, caption.end
        if number - 1 > done and _is_image(text, parts[number - 1]):
            start = parts[number - 1].start
        elif number + 1 < len(parts) and number + 1 not in captions and _is_image(text, parts[number + 1]):
            end, done = parts[number + 1].end, number + 1
        yield TableOrFigure("figure", (Span(start, end),), start, caption.text)


def _is_image(text: str, part: _Part) -> bool:
    is_short = part.kind == "text" and part.end - part.start <= _MAX_IMAGE
    return is_short and bool(_IMAGE.match(text[part.start : part.end]))
