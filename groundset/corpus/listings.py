"""Find the parts of a document that list sources, links or its contents; they are not cut into chunks.

Such a part is a section whose heading names it in a known language ("References") and whose lines are hardly ever
sentences; the sections at the end of the document behind it if none of them has a sentence (navigation); or several
consecutive lines of a table of contents, which end with dots and a page number.
"""

import re
from collections.abc import Iterator
from functools import cache

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
_LOWER_CASE = 0.5  # of the words of a sentence: it has 8 in 10 in English, 6 in 10 in German
_MAX_SENTENCES = 0.2  # of the characters of a list
_MIN_LEADERS = 3  # lines of a table of contents


def text_spans(document: Document) -> list[Span]:
    """Return the parts of a document that are no lists of sources, links or contents."""
    spans, start = [], 0
    for listing in sorted([*_named_sections(document), *_leaders(document.text)]):
        spans.append(Span(start, max(start, listing.start)))
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
        is_short = end - start <= _MAX_NAME and start not in levels
        if is_short and not _ITEM.match(text, start) and _names_list(text[start:end]):
            levels[start] = lowest
            names.add(start)
    ends: dict[int, int] = {}
    after: dict[int, int] = {}  # by level, the start of the nearest section behind
    for start in sorted(levels, reverse=True):  # a section ends at the next one of its level or above
        ends[start] = min((n for level, n in after.items() if level <= levels[start]), default=len(text))
        after[levels[start]] = start
    last = len(text)
    for start in sorted(names):
        body, end = heading_end(text, start), ends[start]
        if text[body:end].strip() and _sentence_share(text, body, end) <= _MAX_SENTENCES:
            last = end
            yield Span(start, end)
    if not _sentence_share(text, last, len(text)):
        yield Span(last, len(text))


def _names_list(heading: str) -> bool:
    return len(heading) <= _MAX_NAME and _EDGES.sub("", heading.strip().removesuffix("[edit]")).lower() in _names()


@cache
def _names() -> frozenset[str]:
    return frozenset().union(*(language.listings for language in LANGUAGES.values()))


def _sentence_share(text: str, start: int, end: int) -> float:
    """Return the share of characters in lines that are sentences."""
    lines = [text[slice(*line)].strip() for line in line_spans(text, Span(start, end))]
    return sum(len(line) for line in lines if _is_sentence(line)) / (sum(map(len, lines)) or 1)


def _is_sentence(line: str) -> bool:
    item = _ITEM.match(line)
    line = line[item.end() :] if item else line
    if len(line) < _MIN_SENTENCE or not _SENTENCE_END.search(line[-_ENDING:]) or _PAGES.search(line):
        return False
    words = _WORD.findall(line)
    is_source = any(language.citation.search(line) for language in LANGUAGES.values())
    return not is_source and sum(map(str.islower, words)) >= _LOWER_CASE * len(words)


def _leaders(text: str) -> Iterator[Span]:
    """Yield the consecutive lines of tables of contents."""
    run: list[Span] = []
    for line in [*line_spans(text, Span(0, len(text))), Span(len(text), len(text))]:
        content = text[slice(*line)].rstrip()
        if _LEADERS.search(content[-_ENDING:]):
            run.append(line)
        elif content or line.start == len(text):
            if len(run) >= _MIN_LEADERS:
                yield Span(run[0].start, run[-1].end)
            run = []
