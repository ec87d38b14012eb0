"""Finding in a passage the words that a model says it copied from it."""

import re

from rapidfuzz import fuzz

from programs.text import numbers

# Set by hand on copies with a changed comma, quotation mark or article; fitted to nothing. A copy that changes one word
# of ten scores about 90.
_LEAST = 88.0  # per cent of the characters that agree
_SHORTEST = 3  # characters; of fewer every passage holds something like them
_PIECES = re.compile(r"\s*(?:\|+|\[?(?:\.{3}|…)\]?)\s*")


def find_quote(passage: str, quote: str) -> str | None:
    """Return the words of a passage that a quote copies, give or take small differences; None if it holds none."""
    quote = " ".join(quote.strip(" \"'“”„«»`*").split())
    if len(quote) < _SHORTEST:
        return None
    if quote in passage:
        return quote
    found = fuzz.partial_ratio_alignment(quote.casefold(), passage.casefold(), score_cutoff=_LEAST)
    # Where lower case is of another length the places are not those of the passage.
    if found is None or len(passage.casefold()) != len(passage) or len(quote) > len(passage):
        return None
    words = _whole_words(passage, found.dest_start, found.dest_end)
    return words if numbers(quote) <= numbers(words) else None


def find_quotes(passage: str, quotes: str) -> list[str] | None:
    """Return the words of a passage for each piece of a quote with gaps ("…" or "|"); None if one is not there."""
    pieces = [piece for piece in _PIECES.split(quotes) if len(piece.strip()) >= _SHORTEST]
    found = [find_quote(passage, piece) for piece in pieces]
    kept = [piece for piece in found if piece is not None]
    return kept if kept and len(kept) == len(found) else None


def _whole_words(text: str, start: int, end: int) -> str:
    while start > 0 and text[start - 1].isalnum() and text[start].isalnum():
        start -= 1
    while end < len(text) and text[end - 1].isalnum() and text[end].isalnum():
        end += 1
    return text[start:end].strip()
