"""A document as atoms: the smallest pieces a chunk is packed from, each with the cost of cutting after it."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from itertools import pairwise
from typing import NamedTuple

from sentencex import get_sentence_boundaries

from programs.types import Document, Heading

# Costs are in units of the packing's length penalty: 1 is the penalty of a chunk of next to no length.
PARAGRAPH = 0.0
_ITEM_CUT = 0.25
_SENTENCE = 0.5
_ROW = 0.8
_LINE = 0.8
_INTRODUCTION = 1.5
_CODE = 1.5
WORD = 3.0
HEADING = 20.0

_FENCE = re.compile(r"\s*(```+|~~~+)")
_ITEM = re.compile(r"\s*(?:[-*+•]|\(?\d{1,3}[.)]|\(?[a-z][.)]|\[\^?\w{1,4}\]:?)\s")
_UNDERLINE = re.compile(r"\n[ \t]*([=\-~^\"*+#])\1{2,}[ \t]*(?=\n|\Z)")
# A block that ends with a colon, or a short line without an end: what follows belongs to it.
_INTRODUCES = re.compile(r".*:\Z|[^\n]{0,80}(?<![.!?;,…|)\]'\"”])\Z", re.DOTALL)
_SPACE = re.compile(r"\s+")
# Nothing is known about a document's language here. A boundary counts where the rules of all these
# languages see one, so that "12. Juni" and "e.g. tea" stay whole in any of them.
_LANGUAGES = ("en", "de", "fr", "es", "it", "pl")
# Brackets, quotation marks and bullets. The rules keep what they enclose whole; an unmatched one can
# swallow pages.
_ENCLOSING = dict.fromkeys(map(ord, '()[]"“”„«»‘’•·'), " ")
_SUSPICIOUS = 400
# The rules take time that grows with the square of what they are handed; a paragraph that fills this is rare.
_WINDOW = 4_096


class Span(NamedTuple):
    """A piece of a document's text."""

    start: int
    end: int


class Atom(NamedTuple):
    """A piece that should stay whole, and the cost of ending a chunk after it."""

    start: int
    end: int
    cost: float


class Section(NamedTuple):
    """The text under a heading up to the next one; ``path`` numbers the headings above, its own last."""

    path: tuple[int, ...]
    atoms: list[Atom]


def sections(document: Document, size: int) -> list[Section]:
    """Cut a document at its headings, and every section into atoms of at most ``size`` characters."""
    text, headings = document.text, document.headings
    found: list[Section] = []
    starts = [heading.start for heading in headings]
    if not starts or text[: starts[0]].strip():
        found.append(Section((), list(_atoms(text, 0, starts[0] if starts else len(text), size))))
    paths = heading_paths(headings)
    atoms: list[Atom] = []
    for index, (start, end) in enumerate(pairwise([*starts, len(text)])):
        body = heading_end(text, start)
        before = len(atoms)
        atoms.append(Atom(start, body, HEADING))
        atoms += _atoms(text, body, end, size)
        orphan: list[Atom] = []
        if index + 1 < len(headings) and text.startswith(headings[index + 1].text, end):
            # Before an unmarked heading a short line is one too, which the parser could not be sure of.
            orphan = [
                atom for atom in atoms[-1:] if is_short_line(text, atom.start, atom.end) and len(atoms) > before + 2
            ]
            del atoms[len(atoms) - len(orphan) :]
        leads = index + 1 < len(headings) and headings[index + 1].level >= headings[index].level
        # A heading with nothing below but another one goes with that one's text.
        if not leads or text[body:end].strip():
            found.append(Section(paths[index], atoms))
            atoms = [atom._replace(cost=HEADING) for atom in orphan]
    return [section for section in found if section.atoms]


def is_short_line(text: str, start: int, end: int) -> bool:
    """Return whether a piece of text is one short line between empty ones, as a heading would be."""
    line = text[start:end].strip()
    alone = "\n" not in line and text[max(0, start - 2) : start] in {"", "\n\n"}
    return alone and bool(_INTRODUCES.match(line)) and not _ITEM.match(line)


def heading_end(text: str, start: int) -> int:
    """Return where the heading that starts at ``start`` ends, with its underline if it has one."""
    end = text.find("\n", start)
    end = len(text) if end < 0 else end
    underline = _UNDERLINE.match(text, end)
    return underline.end() if underline else end


def heading_paths(headings: Sequence[Heading]) -> list[tuple[int, ...]]:
    """Return, for each heading, the numbers of the headings above the text that follows it, its own last."""
    paths: list[tuple[int, ...]] = []
    path: tuple[int, ...] = ()
    for index, heading in enumerate(headings):
        while path and headings[path[-1]].level >= heading.level:
            path = path[:-1]
        path = (*path, index)
        paths.append(path)
    return paths


def sentence_atoms(text: str, size: int) -> list[Atom]:
    """Cut a text into sentences, paragraph by paragraph; only one longer than ``size`` is cut itself."""
    return [
        piece
        for block in _blocks(text, 0, len(text))
        for start, end in sentence_spans(text[block.start : block.end])
        for piece in _fit(text, Atom(block.start + start, block.start + end, _SENTENCE), size)
    ]


def _atoms(text: str, start: int, end: int, size: int) -> Iterator[Atom]:
    for block in _blocks(text, start, end):
        atoms = [piece for atom in _block_atoms(text, block) for piece in _fit(text, atom, size)]
        yield from atoms[:-1]
        introduces = _INTRODUCES.match(text[block.start : block.end].strip())
        yield atoms[-1]._replace(cost=_INTRODUCTION if introduces else PARAGRAPH)


def _blocks(text: str, start: int, end: int) -> Iterator[Span]:
    """Split at empty lines, but not inside fenced code."""
    fence = ""
    first: int | None = None
    for line in _lines(text, Span(start, end)):
        content = text[line.start : line.end]
        mark = _FENCE.match(content)
        if mark and not fence:
            fence = mark.group(1)
        elif mark and mark.group(1).startswith(fence):
            fence = ""
        if content.strip() or (fence and first is not None):
            first = line.start if first is None else first
        elif first is not None:
            yield Span(first, line.start)
            first = None
    if first is not None:
        yield Span(first, end)


def _lines(text: str, block: Span) -> Iterator[Span]:
    start = block.start
    while start < block.end:
        end = text.find("\n", start, block.end)
        end = block.end if end < 0 else end + 1
        yield Span(start, end)
        start = end


def _block_atoms(text: str, block: Span) -> list[Atom]:
    lines = list(_lines(text, block))
    contents = [text[line.start : line.end] for line in lines]
    if _FENCE.match(contents[0]) or all(content.startswith("    ") for content in contents):
        return [Atom(*line, _CODE) for line in lines]
    if len(lines) > 1 and all("|" in content for content in contents):
        # Without its header a row says nothing.
        return [Atom(*line, HEADING if number < 2 else _ROW) for number, line in enumerate(lines)]
    items = [line.start for line, content in zip(lines, contents, strict=True) if _ITEM.match(content)]
    atoms: list[Atom] = []
    for piece in _between([block.start, *items, block.end]):
        sentences = [
            Atom(piece.start + start, piece.start + end, _SENTENCE)
            for start, end in sentence_spans(text[piece.start : piece.end])
        ]
        atoms += [*sentences[:-1], sentences[-1]._replace(cost=_ITEM_CUT)]
    return atoms


def _between(cuts: Iterable[int]) -> list[Span]:
    ordered = sorted(set(cuts))
    return [Span(*pair) for pair in pairwise(ordered)]


def _fit(text: str, atom: Atom, size: int) -> list[Atom]:
    """Split an atom longer than ``size``: at its lines, else between words, else anywhere."""
    if atom.end - atom.start <= size:
        return [atom]
    lines = list(_lines(text, Span(atom.start, atom.end)))
    if len(lines) > 1:
        pieces = [piece for line in lines for piece in _fit(text, Atom(*line, _LINE), size)]
    else:
        pieces = [Atom(*span, WORD) for span in _word_groups(text, atom, size)]
    return [*pieces[:-1], pieces[-1]._replace(cost=atom.cost)]


def _word_groups(text: str, atom: Atom, size: int) -> Iterator[Span]:
    """Cut between words into pieces fine enough to pack, inside a word only if it exceeds ``size``."""
    start = atom.start
    while start < atom.end:
        space = _SPACE.search(text, min(start + size // 10, atom.end), min(start + size, atom.end))
        end = space.end() if space else min(start + size, atom.end)
        yield Span(start, end)
        start = end


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Split ``text`` into sentences that cover it from end to end, as (start, end)."""
    spans: list[tuple[int, int]] = []
    for start, end in _split(text):
        inner = [(0, end - start)]
        if end - start > _SUSPICIOUS:
            inner = _split(text[start:end].translate(_ENCLOSING))
        spans += [(start + first, start + last) for first, last in inner]
    return spans


def _split(text: str) -> list[tuple[int, int]]:
    ends: list[int] = []
    start = 0
    while len(text) - start > _WINDOW:
        window = text[start : start + _WINDOW]
        found = _ends(window)
        ends += [start + end for end in found]
        # A sentence that the window cuts off is looked at again, from its beginning or, if it fills the
        # window, from its last word.
        start += found[-1] if found else _last_space(window)
    ends += [start + end for end in _ends(text[start:])]
    ends += [len(text)] if text else []
    return list(zip([0, *ends], ends, strict=False))


def _ends(text: str) -> list[int]:
    """Return where sentences end inside a text."""
    found = ({boundary["end_index"] for boundary in get_sentence_boundaries(language, text)} for language in _LANGUAGES)
    return sorted(reduce(set.intersection, found) - {len(text)}) if text else []


def _last_space(window: str) -> int:
    space = max(window.rfind(" "), window.rfind("\n"))
    return space if space > 0 else len(window)
