"""Find title and headings of plain text where the layout is unambiguous."""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from groundset.corpus.parsing.markdown import line_starts
from groundset.corpus.parsing.text import Parsed
from programs.types import Heading

_UNDERLINE = re.compile(r"^([=\-~^\"*+#])\1{2,}$")
_WIKI = re.compile(r"^(={1,6})(?!=)\s*(\S.*)\1$")
_ATX = re.compile(r"^(#{1,6})\s+(.*)$")
_NUMBERED = re.compile(r"^(\d{1,2}(?:\.\d{1,2}){0,3})\.?\s+(\S.*)$")
_BULLET = re.compile(r"^(?:[•*–-]|\d{1,3}\.)\s")
_YEAR = re.compile(r"^\d{4}$")
_SENTENCE_END = re.compile(r"[.!?:;,…]['\"”)\]]*$")
# Skip links at the top of pages saved as text, in the supported languages.
_SKIP_LINK = re.compile(
    r"(?:jump|skip) to (?:main |the )?(?:content|navigation|search)|zum (?:haupt)?inhalt|aller au contenu|"
    r"(?:ir|saltar) al contenido",
    re.IGNORECASE,
)
_MAX_TITLE = 120
_MAX_HEADING = 80
_MAX_BARE_WORDS = 6
_MAX_NESTED_WORDS = 3
_MAX_BARE = 50
_MIN_PROSE = 80
_BARE_LEVEL = 4


class _Line(NamedTuple):
    text: str
    start: int
    alone: bool  # an empty line (or the edge of the text) before and after
    next: str  # the next line that is not empty
    underline: str  # the character of the line below, if that is an underline


_NO_LINE = _Line("", 0, alone=False, next="", underline="")


def parse_plain(text: str) -> Parsed:
    """Parse plain text; the first line after skip links is the title if it looks like one."""
    lines = [line for line in _lines(text) if not _SKIP_LINK.match(line.text)]
    title = _title(lines)
    headings = list(_headings(lines[1:] if title else lines))
    return Parsed(text, title, headings)


def _lines(text: str) -> Iterator[_Line]:
    lines = text.split("\n")
    starts = line_starts(text)
    filled = [index for index, line in enumerate(lines) if line.strip()]
    for position, index in enumerate(filled):
        after = lines[index + 1].strip() if index + 1 < len(lines) else ""
        underline = _UNDERLINE.match(after)
        below = filled[position + 1] if position + 1 < len(filled) else None
        yield _Line(
            text=lines[index].strip(),
            start=starts[index] + len(lines[index]) - len(lines[index].lstrip()),
            alone=(index == 0 or not lines[index - 1].strip()) and not after,
            next=lines[below].strip() if below is not None else "",
            underline=underline.group(1) if underline and len(after) >= 0.5 * len(lines[index].strip()) else "",
        )


def _title(lines: list[_Line]) -> str | None:
    if not lines:
        return None
    first = lines[0]
    marked = _mark(first.text)
    if marked:
        return marked[1]
    looks = len(first.text) <= _MAX_TITLE and not _SENTENCE_END.search(first.text)
    return first.text if looks and (first.alone or first.underline) and first.next else None


def _headings(lines: list[_Line]) -> Iterator[Heading]:
    """Find marked headings, or else numbered, upper-case and bare lines."""
    marked = list(_marked(lines))
    if marked:
        yield from marked
        return
    section = 0
    prose_seen = False
    for line, below in pairwise([*lines, _NO_LINE]):
        numbered = _NUMBERED.match(line.text)
        number = int(numbered.group(1).split(".")[0]) if numbered else 0
        if numbered and section <= number <= section + 1 and numbered.group(2)[0].isupper() and _is_short(line):
            section = number
            yield Heading(level=2 + numbered.group(1).count("."), text=line.text, start=line.start)
        elif line.text.isupper() and sum(map(str.isalpha, line.text)) >= 4 and _is_short(line):
            yield Heading(level=2, text=line.text, start=line.start)
        elif prose_seen and _is_bare(line, below):
            yield Heading(level=_BARE_LEVEL, text=line.text, start=line.start)
        prose_seen = prose_seen or len(line.text) >= _MIN_PROSE


def _marked(lines: list[_Line]) -> Iterator[Heading]:
    """Find ``## X``, ``== X ==`` and underlined headings; an underline's level is its order of appearance."""
    underlines: list[str] = []
    previous = ""
    for line in lines:
        marked = _mark(line.text) if line.alone else None
        if len(line.text) > _MAX_HEADING:
            continue
        if marked:
            level, text = marked
            yield Heading(level=level, text=text.removesuffix("[edit]"), start=line.start)
        elif line.underline and not previous and any(map(str.isalpha, line.text)):
            if line.underline not in underlines:
                underlines.append(line.underline)
            level = min(underlines.index(line.underline) + 1, 6)
            yield Heading(level=level, text=line.text, start=line.start)
        previous = line.underline


def _mark(text: str) -> tuple[int, str] | None:
    """Return the level and text of a heading marked as in Markdown or a wiki."""
    if wiki := _WIKI.match(text):
        return len(wiki.group(1)), wiki.group(2).rstrip()
    if atx := _ATX.match(text):
        return len(atx.group(1)), atx.group(2).rstrip("#").rstrip()
    return None


def _is_short(line: _Line) -> bool:
    return line.alone and bool(line.next) and len(line.text) <= _MAX_HEADING and not _SENTENCE_END.search(line.text)


def _is_bare(line: _Line, below: _Line) -> bool:
    """Recognise an unmarked heading: a few words alone between empty lines, with prose below.

    Three words may also stand above a list or another heading; longer ones there are mostly captions.
    """
    if not _is_bare_line(line, _MAX_BARE_WORDS):
        return False
    if len(below.text) >= _MIN_PROSE:
        return True
    brief = _is_bare_line(line, _MAX_NESTED_WORDS)
    nested = _is_bare_line(below, _MAX_NESTED_WORDS) and len(below.next) >= _MIN_PROSE
    return brief and (nested or bool(_BULLET.match(below.text)))


def _is_bare_line(line: _Line, max_words: int) -> bool:
    return (
        line.alone
        and len(line.text) <= _MAX_BARE
        and len(line.text.split()) <= max_words
        and (line.text[0].isupper() or bool(_YEAR.match(line.text)))
        and not _SENTENCE_END.search(line.text)
        and not re.search(r"[|:\[\]{}<>=•]|\S\s*\d{4}", line.text)
    )
