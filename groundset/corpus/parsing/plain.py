"""Find title and headings of plain text where the layout is unambiguous."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from groundset.corpus.parsing import Parsed
from groundset.corpus.parsing.markdown import line_starts
from groundset.programs.types import Heading

_UNDERLINE = re.compile(r"^([=\-~^\"*+#])\1{2,}$")
_MARKED = re.compile(
    r"^(?:(?P<wiki>={1,6})(?!=)\s*(?P<name>\S.*)(?P=wiki)|(?P<atx>#{1,6})\s+(?P<text>.*))$"
)
_NUMBERED = re.compile(r"^(\d{1,2}(?:\.\d{1,2}){0,3})\.?\s+([^\W\d_a-zß-ÿ].*)$")
_BULLET = re.compile(r"^(?:[•*–-]|\d{1,3}\.)\s")
_SENTENCE_END = re.compile(r"[.!?:;,…]['\"”)\]]*$")
_NOT_BARE = re.compile(r"[|:\[\]{}<>=•]|\S\s*\d{4}")
# Skip links at the top of pages saved as text, in the supported languages.
_SKIP_LINK = re.compile(
    r"(?:jump|skip) to (?:main |the )?(?:content|navigation|search)|zum (?:haupt)?inhalt|aller au"
    r" contenu|"
    r"(?:ir|saltar) al contenido",
    re.IGNORECASE,
)
_MAX_TITLE, _MAX_HEADING, _MAX_BARE = 120, 80, 50  # characters
_MAX_WORDS, _MAX_NESTED_WORDS = 6, 3  # of bare headings
_MIN_PROSE = 80
_BARE_LEVEL = 4


class _Line(NamedTuple):
    text: str
    start: int
    alone: bool  # an empty line (or the edge of the text) before and after
    next: str  # the next line that is not empty
    underline: str  # the character of the line below, if that is an underline

    def is_bare(self, max_words: int) -> bool:
        """Return whether it is a few words without marks, as an unmarked heading would be."""
        is_start = self.text[:1].isupper() or re.fullmatch(r"\d{4}", self.text)
        is_short = len(self.text) <= _MAX_BARE and len(self.text.split()) <= max_words
        has_marks = _SENTENCE_END.search(self.text) or _NOT_BARE.search(self.text)
        return bool(self.alone and is_short and is_start and not has_marks)


_NO_LINE = _Line("", 0, alone=False, next="", underline="")


def parse_plain(text: str) -> Parsed:
    """Parse plain text; the first line after skip links is the title if it looks like one."""
    lines = [line for line in _lines(text) if not _SKIP_LINK.match(line.text)]
    first = lines[0] if lines else _NO_LINE
    is_apart = first.next and (first.alone or first.underline)
    is_title = is_apart and len(first.text) <= _MAX_TITLE and not _SENTENCE_END.search(first.text)
    _, title = _mark(first.text) or (0, first.text if is_title else None)
    rest = lines[1:] if title else lines
    return Parsed(text, title, list(_marked(rest)) or list(_unmarked(rest)))


def _lines(text: str) -> Iterator[_Line]:
    lines = ["", *text.split("\n"), ""]
    starts = [0, *line_starts(text)]
    filled = [index for index, line in enumerate(lines) if line.strip()]
    for index, below in pairwise([*filled, 0]):
        line, after = lines[index].strip(), lines[index + 1].strip()
        underline = _UNDERLINE.match(after) if len(after) >= 0.5 * len(line) else None
        yield _Line(
            text=line,
            start=starts[index] + len(lines[index]) - len(lines[index].lstrip()),
            alone=not lines[index - 1].strip() and not after,
            next=lines[below].strip(),
            underline=underline[1] if underline else "",
        )


def _mark(text: str) -> tuple[int, str] | None:
    """Return the level and text of a heading marked as in Markdown or a wiki."""
    if not (found := _MARKED.match(text)):
        return None
    shown = found["name"] or found["text"].rstrip("#")
    return len(found["wiki"] or found["atx"]), shown.strip()


def _marked(lines: Sequence[_Line]) -> Iterator[Heading]:
    """Find ``## X``, ``== X ==`` and underlined headings; an underline's level is its order of
    appearance.
    """
    underlines: list[str] = []
    previous = ""
    for line in lines:
        if len(line.text) > _MAX_HEADING:
            continue
        if line.alone and (marked := _mark(line.text)):
            yield Heading(level=marked[0], text=marked[1].removesuffix("[edit]"), start=line.start)
        elif line.underline and not previous and any(map(str.isalpha, line.text)):
            level = [*underlines, line.underline].index(line.underline) + 1
            underlines += [line.underline] * (level > len(underlines))
            yield Heading(level=min(level, 6), text=line.text, start=line.start)
        previous = line.underline


def _unmarked(lines: Sequence[_Line]) -> Iterator[Heading]:
    """Find numbered and upper-case lines, and a few words alone between empty lines with prose
    below.

    Three words may also stand above a list or another heading; longer ones there are mostly
    captions.
    """
    section = 0
    prose_seen = False
    for line, below in pairwise([*lines, _NO_LINE]):
        is_short = (
            line.alone
            and line.next
            and len(line.text) <= _MAX_HEADING
            and not _SENTENCE_END.search(line.text)
        )
        numbered = _NUMBERED.match(line.text)
        number = int(numbered[1].split(".")[0]) if numbered else 0
        leads = (
            below.is_bare(_MAX_NESTED_WORDS) and len(below.next) >= _MIN_PROSE
        ) or _BULLET.match(below.text)
        most = _MAX_WORDS if len(below.text) >= _MIN_PROSE else _MAX_NESTED_WORDS * bool(leads)
        level = 0
        if numbered and section <= number <= section + 1 and is_short:
            section, level = number, 2 + numbered[1].count(".")
        elif line.text.isupper() and sum(map(str.isalpha, line.text)) >= 4 and is_short:
            level = 2
        elif prose_seen and line.is_bare(most):
            level = _BARE_LEVEL
        if level:
            yield Heading(level=level, text=line.text, start=line.start)
        prose_seen = prose_seen or len(line.text) >= _MIN_PROSE
