"""Finding quotes in a passage, with small differences."""

import re
from itertools import islice

from rapidfuzz import fuzz

from programs.text import numbers

# Set by hand on quotes with a changed comma, quotation mark or article; not fitted. A quote with one changed word in
# ten scores about 90.
_MIN_RATIO = 88.0  # per cent of matching characters
_MIN_LENGTH = 3  # characters; shorter quotes match anywhere
_WORD = re.compile(r"\w+")
_MAX_EXTENSION = 4  # words
_PIECES = re.compile(r"\s*(?:\|+|\[?(?:\.{3}|…)\]?)\s*")


def find_quote(passage: str, quote: str) -> str | None:
    """Return the words of a passage that match a quote, apart from small differences; None if there are none."""
    quote = " ".join(quote.strip(" \"'“”„«»`*").split())
    if len(quote) < _MIN_LENGTH:
        return None
    if quote in passage:
        return quote
    found = fuzz.partial_ratio_alignment(quote.lower(), passage.lower(), score_cutoff=_MIN_RATIO)
    # Lower case can have another length (a dotted capital I); offsets are then wrong.
    if found is None or len(passage.lower()) != len(passage) or len(quote) > len(passage):
        return None
    words = _whole_words(passage, found.dest_start, found.dest_end, quote)
    return words if numbers(quote) <= numbers(words) else None


def find_quotes(passage: str, quotes: str) -> list[str] | None:
    """Return the matching words for each piece of a quote with gaps ("…" or "|"); None if a piece is not found."""
    pieces = [piece for piece in _PIECES.split(quotes) if len(piece.strip()) >= _MIN_LENGTH]
    found = [find_quote(passage, piece) for piece in pieces]
    kept = [piece for piece in found if piece is not None]
    return kept if kept and len(kept) == len(found) else None


def _whole_words(text: str, start: int, end: int, quote: str) -> str:
    """Extend a span of a text to whole words, and further if that makes it more similar to a quote."""
    while start > 0 and text[start - 1].isalnum() and text[start].isalnum():
        start -= 1
    ends = [end, *(match.end() for match in islice(_WORD.finditer(text, end), _MAX_EXTENSION))]
    best = max(ends, key=lambda end: fuzz.ratio(quote.lower(), text[start:end].lower()))
    while best < len(text) and text[best - 1].isalnum() and text[best].isalnum():
        best += 1
    return text[start:best].strip()
