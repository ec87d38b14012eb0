"""Find the parts of a document that list sources, links or its contents; they are not cut into chunks.

Such a part is a section whose heading names it in a known language ("References") and whose lines are hardly ever
sentences; the sections at the end of the document behind it if none of them has a sentence (navigation); or several
consecutive lines of a table of contents, which end with dots and a page number.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from groundset.corpus.structure import Span, heading_end, line_spans
from programs.languages import LANGUAGES
from programs.types import Document

_EDGES = re.compile(r"^[\W\d_]+|[\W_]+$")
_ITEM = re.compile(r"(?:[-*+•·|]|\(?\d{1,3}[.)]|\(?[a-z][.)]|\[\^?\w{1,4}\]:?)\s+")
_LEADERS = re.compile(r"(?:\. ?){4,}\d{1,4}\Z")
_ENDING = 60  # characters at the end of a line in which patterns are searched, because lines can be long
_SENTENCE_END = re.compile(r"[.!?…]['\"”’»)\]]*(?:\[\w{1,4}\])*\s*$")
_PAGES = re.compile(r"\d\s?[:;(]\s?\d|\d[–-]\d|[↑^]")
_WORD = re.compile(r"[^\W\d_]+")
_MAX_NAME = 60  # characters
_MIN_SENTENCE = 40  # characters; shorter lines may be titles or names
# In sentences more words are in lower case: 8 in 10 in English, 6 in 10 in German.
_LOWER_CASE = 0.5
_MAX_SENTENCES = 0.2  # of the characters of a list
_MIN_LEADERS = 3  # lines of a table of contents


def text_spans(document: Document) -> list[Span]:
    """Return the parts of a document that are no lists of sources, links or contents."""
    spans, start = [], 0
    for listing in listings(document):
        spans.append(Span(start, listing.start))
        start = listing.end
    spans.append(Span(start, len(document.text)))
    return [span for span in spans if document.text[span.start : span.end].strip()]


def listings(document: Document) -> list[Span]:
    """Return the lists of sources, links and contents in a document, in order and apart."""
    found = sorted([*_named_sections(document), *_leaders(document.text)])
    joined: list[Span] = []
    for span in found:
        if joined and span.start <= joined[-1].end:
            joined[-1] = Span(joined[-1].start, max(joined[-1].end, span.end))
        else:
            joined.append(span)
    return joined


def _named_sections(document: Document) -> Iterator[Span]:
    text, marks = document.text, _section_marks(document)
    ends = _section_ends(marks, len(text))
    lists = [index for index, mark in enumerate(marks) if mark.names_list and _is_list(text, mark.start, ends[index])]
    yield from (Span(marks[index].start, ends[index]) for index in lists)
    if lists and not _sentence_share(text, ends[lists[-1]], len(text)):
        yield Span(ends[lists[-1]], len(text))


def _is_list(text: str, start: int, end: int) -> bool:
    body = heading_end(text, start)
    return bool(text[body:end].strip()) and _sentence_share(text, body, end) <= _MAX_SENTENCES


class _Mark(NamedTuple):
    """The start of a section."""

    start: int
    level: int
    names_list: bool


def _section_marks(document: Document) -> list[_Mark]:
    """Return the headings, and lines with the name of a list that the parser missed, as headings below all others."""
    text = document.text
    marks = {
        heading.start: _Mark(heading.start, heading.level, _names_list(heading.text)) for heading in document.headings
    }
    lowest = max((mark.level for mark in marks.values()), default=0)
    for start, end in line_spans(text, Span(0, len(text))):
        if (
            start not in marks
            and end - start <= _MAX_NAME
            and not _ITEM.match(text, start)
            and _names_list(text[start:end])
        ):
            marks[start] = _Mark(start, lowest, names_list=True)
    return [marks[start] for start in sorted(marks)]


def _section_ends(marks: Sequence[_Mark], length: int) -> list[int]:
    """Return where each section ends: at the next one of its level or above."""
    ends = [length] * len(marks)
    open_sections: list[int] = []
    for index, mark in enumerate(marks):
        while open_sections and marks[open_sections[-1]].level >= mark.level:
            ends[open_sections.pop()] = mark.start
        open_sections.append(index)
    return ends


def _names_list(heading: str) -> bool:
    return len(heading) <= _MAX_NAME and _EDGES.sub("", heading.strip().removesuffix("[edit]")).lower() in _names()


@cache
def _names() -> frozenset[str]:
    return frozenset().union(*(language.listings for language in LANGUAGES.values()))


def _sentence_share(text: str, start: int, end: int) -> float:
    """Return the share of characters in lines that are sentences."""
    sentences = total = 0
    for line in line_spans(text, Span(start, end)):
        content = text[line.start : line.end].strip()
        total += len(content)
        sentences += len(content) if _is_sentence(content) else 0
    return sentences / total if total else 0.0


def _is_sentence(line: str) -> bool:
    item = _ITEM.match(line)
    line = line[item.end() :] if item else line
    if len(line) < _MIN_SENTENCE or not _SENTENCE_END.search(line[-_ENDING:]) or _PAGES.search(line):
        return False
    if any(language.citation.search(line) for language in LANGUAGES.values()):
        return False
    words = _WORD.findall(line)
    return sum(map(str.islower, words)) >= _LOWER_CASE * len(words)


def _leaders(text: str) -> Iterator[Span]:
    """Yield the consecutive lines of tables of contents."""
    run: list[Span] = []
    for line in [*line_spans(text, Span(0, len(text))), Span(len(text), len(text))]:
        content = text[line.start : line.end].rstrip()
        if _LEADERS.search(content[-_ENDING:]):
            run.append(line)
        elif content or line.start == len(text):
            if len(run) >= _MIN_LEADERS:
                yield Span(run[0].start, run[-1].end)
            run = []
