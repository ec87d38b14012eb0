"""Checks of written questions, answers and quotes that need no model."""

import re
from bisect import bisect_right
from collections.abc import Collection, Sequence
from itertools import islice

import regex
from rapidfuzz import fuzz

from groundset.programs.answers import same
from groundset.programs.languages import LANGUAGES, language_among, language_of, name_of
from groundset.programs.text import (
    CAPITALISED,
    INSIDE_WORD,
    WORD,
    composed,
    has_words,
    numbers,
    plain,
    tokens,
)
from groundset.programs.words import Language

TELLING = 30  # characters; shorter evidence can stand anywhere by chance
# A question mark inside a question, such as in a title: lower case follows, and another question
# mark; or something stands directly behind it, as in "/depots?year=1931". A quotation is whole.
_INNER = r"\?(?:[\"'»”’!,]*\s+[^\W\d_A-ZÀ-Þ]|[^\s\"'»”’!,])[^?]*(?=\?)|\?[\"'»”’)]+(?=\?)"
_FIRST = re.compile(rf"(?:\"[^\"\n]*\"|“[^”\n]*”|«[^»\n]*»|[^?])*(?:{_INNER})*\??")
_LABEL = re.compile(r"^(?:new )?(?:question|frage|q)\s*\d*\s*[:.]\s*", re.IGNORECASE)
_QUOTED = re.compile(r"[\"“„«][^\"“”„«»]*[\"“”»]")
_NONE = frozenset({"", "-", "none", "n/a"})
_SHORT_ANSWER = 2  # words; so short an answer may occur in its question by chance
_LEAST_BARE = 2  # words that must be left when names are taken out, for the language to be told
_CHECKED_ANSWER = 5  # words; the language of shorter answers is not told reliably
# Set by hand on quotes with a changed comma, quotation mark or article; not fitted. A quote with
# one changed word in ten scores about 90.
_MIN_RATIO = 88.0  # per cent of matching characters
_MIN_LENGTH = 3  # characters; shorter quotes match anywhere
_PAIR = regex.compile(rf"{INSIDE_WORD}{{2}}")
_MAX_EXTENSION = 4  # words
_PIECES = re.compile(r"\s*(?:\|+|;(?=\s)|\[?(?:\.{3}|…)\]?)\s*")


def tidy_question(text: str) -> str:
    """Return a written question without label, markup or doubled spaces, and without what follows
    it.
    """
    text = _LABEL.sub("", plain(" ".join(text.split())))
    found = _FIRST.match(text)
    return re.sub(r"\s+\?$", "?", found[0] if found and found[0].strip(" ?") else text).strip()


def is_none(text: str) -> bool:
    """Return whether a model wrote "none" instead of a question."""
    return text.strip(" .\"'").casefold() in _NONE


def evidence_in(passage: str, question: str, answer: str) -> str | None:
    """Return the words of a passage that state an answer, else its sentence with most words of
    question and answer.
    """
    language = LANGUAGES[language_of(passage)]
    wanted = set(language.content_words(f"{question} {answer}"))
    sentences = language.sentences(passage)
    best = max(
        sentences, key=lambda each: len(wanted & set(language.content_words(each))), default=""
    )
    return stating(passage, answer, language) or find_quote(passage, best)


def located(passages: Sequence[str], evidence: Sequence[str]) -> list[tuple[int, str]] | None:
    """Return each piece of evidence, as a passage has it, with the position of the passage; None if
    one is in none.
    """
    found = []
    evidence = _rejoined(passages, evidence)
    # The cells of a table's row are pieces, too, and the shortest ones can be found anywhere.
    for piece in [each for each in evidence if len(each) >= _MIN_LENGTH] or evidence:
        places = ((place, find_quotes(passage, piece)) for place, passage in enumerate(passages))
        first = next(((place, quotes) for place, quotes in places if quotes), None)
        if first is None:
            return None
        found += [(first[0], quote) for quote in first[1]]
    return found or None


def _rejoined(passages: Sequence[str], evidence: Sequence[str]) -> list[str]:
    """Return evidence with those pieces as one between which a bar of a passage stands."""
    joined: list[str] = []
    for piece in evidence:
        whole = f"{joined[-1]} | {piece}" if joined else piece
        if joined and any(whole in passage for passage in passages):
            joined[-1] = whole
        else:
            joined.append(piece)
    return joined


def stating(passage: str, answer: str, language: Language) -> str | None:
    """Return the words of a passage that state an answer; None if no sentence has all its content
    words.

    Small models leave their evidence out, or copy it with slips.
    """
    if quote := find_quote(passage, answer):
        return quote
    wanted = set(language.content_words(answer))
    sentences = language.sentences(passage)
    found = next(
        (each for each in sentences if wanted and wanted <= set(language.content_words(each))), None
    )
    return find_quote(passage, found) if found else None


def written_fault(
    question: str, answer: str, language: Language, max_words: int | None = 0
) -> str | None:
    """Return why a written question or its answer cannot be used; None if they can.

    The question may contain its answer if it offers several ("Which is older, the weir or the
    mill?"). Without a limit, ``None``, it is a message, which need not be one question.
    """
    if not question or not answer:
        return "no question with an answer was written"
    if max_words is not None and "?" not in question and "？" not in question:
        return "it is no question"
    if max_words and len(question.split()) > max_words:
        return f"it has {len(question.split())} words, at most {max_words} are wanted"
    offers = language.alternative.search(question)
    if len(tokens(answer)) > _SHORT_ANSWER and has_words(question, answer) and not offers:
        return f"it gives its answer away: {answer!r}"
    return None


def language_fault(
    question: str, answer: str, wanted: str, others: Collection[str] = ()
) -> str | None:
    """Return why question or answer are not in the wanted language; None if they are.

    The alternatives are English and ``others``, such as the languages of the passages: which of a
    few languages a text has is told reliably, even for short texts. Quotations, names and answers
    of a few words are not checked.
    """
    codes = {wanted, "en", *others}
    is_name = 2 * len(CAPITALISED.findall(answer)) > len(tokens(answer))
    is_checked = len(tokens(answer)) >= _CHECKED_ANSWER and not (
        is_name or _QUOTED.fullmatch(answer.strip(" ."))
    )
    for what, text in (("question", question), *([("answer", answer)] if is_checked else [])):
        if (found := language_among(_without_names(text), codes)) != wanted:
            return f"the {what} is in {name_of(found)}, not {name_of(wanted)}"
    return None


def agree(expected: str, found: str, language: Language, question: str = "") -> bool | None:
    """Return whether two answers to a question say the same; None if code cannot tell.

    Numbers carry sign and unit. What differs in a word that says something is for a reader to
    compare, unless the one excludes the other: "before" and "after".
    """
    return same(expected, found, language, question) if language.is_stated(found) else False


def _without_names(text: str) -> str:
    """Return a text without quotations and capitalised words after the first, unless too little is
    left.
    """
    first, _, others = _QUOTED.sub(" ", text).partition(" ")
    bare = f"{first} {CAPITALISED.sub(' ', others)}"
    return bare if len(tokens(bare)) >= _LEAST_BARE else text


def find_quote(passage: str, quote: str) -> str | None:
    """Return the words of a passage that match a quote, apart from small differences; None if there
    are none.
    """
    if "\n" in quote and quote in passage:
        return quote
    quote = " ".join(composed(quote).strip(" \"'“”„«»`*").split())
    if (flat := composed(passage)) != passage:
        said = find_quote(flat, quote)
        return said and passage[slice(*_span_of(passage, flat, said))]
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
    """Return the matching words for each piece of a quote with gaps ("…", "|", ";"); None if a
    piece is not found.
    """
    if (whole := find_quote(passage, quotes)) and whole == quotes:
        return [whole]
    pieces = [piece for piece in _PIECES.split(quotes) if len(piece.strip()) >= _MIN_LENGTH]
    found = [find_quote(passage, piece) for piece in pieces]
    kept = [piece for piece in found if piece is not None]
    return kept if kept and len(kept) == len(found) else None


def _span_of(text: str, flat: str, words: str) -> tuple[int, int]:
    """Return where words of a text stand that were found in it when it was composed (``flat``)."""
    start = flat.index(words)

    def length(end: int) -> int:
        return len(composed(text[:end]))

    ends = range(len(text) + 1)
    first, last = (bisect_right(ends, edge, key=length) - 1 for edge in (start, start + len(words)))
    return first, last


def _whole_words(text: str, start: int, end: int, quote: str) -> str:
    """Extend a span of a text to whole words, and further while it gets more similar to a quote."""
    while start > 0 and _is_inside(text, start):
        start -= 1
    ends = [end, *(match.end() for match in islice(WORD.finditer(text, end), _MAX_EXTENSION))]
    best = max(ends, key=lambda end: fuzz.ratio(quote.lower(), text[start:end].lower()))
    while best < len(text) and _is_inside(text, best):
        best += 1
    return text[start:best].strip()


def _is_inside(text: str, place: int) -> bool:
    """Return whether a place of a text is between two characters of a word."""
    return _PAIR.match(text, place - 1) is not None
