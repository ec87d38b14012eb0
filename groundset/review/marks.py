"""Where a sentence or an answer stands in a passage, whatever markup and line ends stand between its letters."""

import unicodedata
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

Span = tuple[int, int]
_TRIES = 10_000  # a text of one letter holds an answer of one letter at every place


class Piece(NamedTuple):
    """A piece of a passage, and whether the focus and the answer cover it."""

    text: str
    focus: bool
    answer: bool


class Letters:
    """The letters and digits of a text in lower case, each with its place."""

    def __init__(self, text: str) -> None:
        self._text = text
        letters: list[str] = []
        self._places: list[int] = []
        for place, character in enumerate(text):
            if character.isalnum():
                folded = character.casefold()
                letters.append(folded)
                self._places += [place] * len(folded)
        self._letters = "".join(letters)

    def find(self, words: str, within: Span | None = None) -> Span | None:
        """Return where words stand first, whole words where the script has spaces; None if they do not."""
        wanted, at = Letters(words)._letters, -1
        for _ in range(_TRIES if wanted else 0):
            at = self._letters.find(wanted, at + 1)
            if at < 0:
                break
            start, last = self._places[at], self._places[at + len(wanted) - 1]
            inside = within is None or (within[0] <= start and last < within[1])
            if inside and self._edge(start - 1, start) and self._edge(last, last + 1):
                return start, last + 1
        return None

    def _edge(self, before: int, after: int) -> bool:
        """Say whether a word can end between two neighbouring characters."""
        if before < 0 or after >= len(self._text):
            return True
        sides = self._text[before], self._text[after]
        if not all(side.isalnum() for side in sides):
            return True
        return any(unicodedata.category(side) == "Lo" for side in sides)  # scripts without spaces, among others


def mark(text: str, foci: Iterable[str], answer: str) -> list[Piece]:
    """Return a passage in pieces, in order: together they are the text.

    The answer is marked where it stands in a focus; in the whole text only if no focus holds it.
    """
    letters = Letters(text)
    focused = [span for span in map(letters.find, foci) if span]
    answered = [span for span in (letters.find(answer, within) for within in focused) if span]
    if not answered and (found := letters.find(answer)):
        answered = [found]
    edges = sorted({0, len(text), *(edge for span in (*focused, *answered) for edge in span)})
    return [Piece(text[start:end], _covers(focused, start), _covers(answered, start)) for start, end in pairwise(edges)]


def _covers(spans: Iterable[Span], place: int) -> bool:
    return any(start <= place < end for start, end in spans)
