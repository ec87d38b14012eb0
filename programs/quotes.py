"""Finding in a passage the words that a model says it copied from it."""

import re
from itertools import islice

from rapidfuzz import fuzz

from programs.text import numbers

# Set by hand on copies with a changed comma, quotation mark or article; fitted to nothing. A copy that changes one word
# of ten scores about 90.
_LEAST = 88.0  # per cent of the characters that agree
_SHORTEST = 3  # characters; of fewer every passage holds something like them
_WORD = re.compile(r"\w+")
_REACH = 4  # words
_PIECES = re.compile(r"\s*(?:\|+|\[?(?:\.{3}|…)\]?)\s*")


def find_quote(passage: str, quote: str) -> str | None:
    """Return the words of a passage that a quote copies, give or take small differences; None if it holds none."""
    quote = " ".join(quote.strip(" \"'“”„«»`*").split())
    if len(quote) < _SHORTEST:
        return None
    if quote in passage:
        return quote
    found = fuzz.partial_ratio_alignment(quote.lower(), passage.lower(), score_cutoff=_LEAST)
    # Where lower case is of another length (a dotted capital I) the places are not those of the passage.
    if found is None or len(passage.lower()) != len(passage) or len(quote) > len(passage):
        return None
    words = _whole_words(passage, found.dest_start, found.dest_end, quote)
    return words if numbers(quote) <= numbers(words) else None


def find_quotes(passage: str, quotes: str) -> list[str] | None:
    """Return the words of a passage for each piece of a quote with gaps ("…" or "|"); None if one is not there."""
    pieces = [piece for piece in _PIECES.split(quotes) if len(piece.strip()) >= _SHORTEST]
    found = [find_quote(passage, piece) for piece in pieces]
    kept = [piece for piece in found if piece is not None]
    return kept if kept and len(kept) == len(found) else None


def _whole_words(text: str, start: int, end: int, quote: str) -> str:
    """Return the words of a text around a span that are most like a quote.

    The span is as long as the quote; where that leaves words out, the words of the text reach further.
    """
    while start > 0 and text[start - 1].isalnum() and text[start].isalnum():
        start -= 1
    ends = [end, *(match.end() for match in islice(_WORD.finditer(text, end), _REACH))]
    best = max(ends, key=lambda place: fuzz.ratio(quote.lower(), text[start:place].lower()))
    while best < len(text) and text[best - 1].isalnum() and text[best].isalnum():
        best += 1
    return text[start:best].strip()
