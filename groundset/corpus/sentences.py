"""Sentence boundaries with exact offsets."""

from functools import reduce

from sentencex import get_sentence_boundaries

# Nothing is known about a document's language here. A boundary counts where the rules of all these
# languages see one, so that "12. Juni" and "e.g. tea" stay whole in any of them.
_LANGUAGES = ("en", "de", "fr", "es", "it", "pl")
# Brackets, quotation marks and bullets. The rules keep what they enclose whole; an unmatched one can
# swallow pages.
_ENCLOSING = dict.fromkeys(map(ord, '()[]"“”„«»‘’•·'), " ")
_SUSPICIOUS = 400
# The rules take time that grows with the square of what they are handed; a paragraph that fills this is rare.
_WINDOW = 4_096


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
