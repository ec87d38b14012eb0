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
    if not text:
        return []
    ends = sorted(reduce(set.intersection, (_ends(text, language) for language in _LANGUAGES)) | {len(text)})
    return list(zip([0, *ends], ends, strict=False))


def _ends(text: str, language: str) -> set[int]:
    return {boundary["end_index"] for boundary in get_sentence_boundaries(language, text)}
