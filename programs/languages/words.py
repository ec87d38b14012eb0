"""The closed word classes of a language, and the patterns that tell what a text of it leans on or is made of."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from threading import Lock
from typing import Any

from sentencex import segment
from snowballstemmer import stemmer
from text_to_num import alpha2digit

from programs.text import tokens

_SHORT_LINE = 0.6  # of the longest line
_KEPT = 256  # texts; every measurement of a passage looks at its sentences


@lru_cache(_KEPT)
def sentences(text: str, segmenter: str, unfinished: re.Pattern[str]) -> tuple[str, ...]:
    """Return the sentences of a text, without line breaks, by the rules of the language with this code.

    What ``unfinished`` is found in goes on in the piece after it, though the rules end it there.
    """
    found: list[str] = []
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*•|#>]|\d{1,3}[.)]\s))", text):
        for piece in _paragraphs(block):
            found.extend(" ".join(sentence.split()) for sentence in segment(segmenter, piece))
    whole: list[str] = []
    for sentence in filter(None, found):
        if whole and unfinished.search(whole[-1]):
            whole[-1] += sentence if sentence.startswith("-") else f" {sentence}"
        else:
            whole.append(sentence)
    return tuple(whole)


def _paragraphs(block: str) -> list[str]:
    """Join the lines of a block, except where a short line ends without a stop and the next opens with a capital.

    Such a line is a heading or a date above running text, not a part of its first sentence.
    """
    lines = [" ".join(line.split()) for line in block.splitlines() if line.strip()]
    longest = max(map(len, lines), default=0)
    joined: list[str] = []
    for before, line in zip(["", *lines], lines, strict=False):
        ends = len(before) < _SHORT_LINE * longest and not re.search(r"[.,;:!?…–—-]$", before)
        if not joined or (ends and re.match(r"[\"“(]?[^\W_a-zß-ÿ]", line)):
            joined.append(line)
        else:
            joined[-1] += f" {line}"
    return joined


Pattern = re.Pattern[str]

# Pages and bibliographies have these whatever their language.
_ANY_BOILERPLATE = r"cookies?|copyright|©|newsletter|log ?in|disclaimer"
_ANY_CITATION = (
    r"doi|isbn|issn|pmid|pmc|arxiv|bibcode|s2cid|et al|vol\.|pp?\. ?\d|ed\.\)|eds\.|university press|journal of|"
    r"proceedings|ibid|op\. cit"
)
# What models write instead of an answer: the instruction of the step is English whatever the passage is.
_ANY_REFUSAL = (
    r"not (?:stated|mentioned|given|specified|provided|known|said|available)|unknown|no answer|n/?a|none|"
    r"nothing (?:is|was) (?:said|stated)|the (?:passage|text) does not"
)
_OPENING_WORDS = 7  # a longer stretch before the first comma is the main clause itself
_KEPT_STEMS = 65_536
_KEPT_TEXTS = 1_024  # a question is compared with the same few passages again and again
_STEMMING = Lock()  # a Snowball stemmer holds the word that it works on

NEVER = re.compile(r"(?!)")


def word_list(listed: str) -> frozenset[str]:
    """Return words that spaces part."""
    return frozenset(listed.split())


def whole_words(*alternatives: str, as_written: bool = False) -> Pattern:
    """Return a pattern of whole words; ``as_written`` keeps capitals apart."""
    return re.compile(rf"\b(?:{'|'.join(alternatives)})\b", 0 if as_written else re.IGNORECASE)


def at_start(*alternatives: str) -> Pattern:
    """Return a pattern of how a text begins, after signs."""
    return re.compile(rf"\W*(?:{'|'.join(alternatives)})", re.IGNORECASE)


def page_furniture(*alternatives: str) -> Pattern:
    """Return a pattern of a language's page furniture with that of all languages."""
    return whole_words(_ANY_BOILERPLATE, *alternatives)


def references(*alternatives: str) -> Pattern:
    """Return a pattern of a language's words of references with the signs and words of all languages."""
    words = "|".join((_ANY_CITATION, *alternatives))
    return re.compile(rf"\b(?:{words})\b|\^|\(\d{{4}}[a-z]?\)[.,]|https?://|www\.", re.IGNORECASE)


def refusals(*alternatives: str) -> Pattern:
    """Return a pattern of what says that there is no answer, in a language or in the words of the instruction."""
    return re.compile(rf"\W*(?:{'|'.join((_ANY_REFUSAL, *alternatives))})\b", re.IGNORECASE)


ANY_REFUSAL, ANY_PAGE_FURNITURE, ANY_REFERENCES = refusals(), page_furniture(), references()


@dataclass(frozen=True, kw_only=True, eq=False)
class Words:
    """The words of a language; patterns of what it has no words for never match.

    Attributes:
        code: ISO 639-1 code.
        stop_words: function words.
        question_words: the words that open a question.
        stemmer: what Snowball calls the language; without it each word is its own stem.
        numerals: the code of the language whose number words are read; without it none are.
        segmenter: the code of the language whose rules tell where sentences end, if it is another one.
        unfinished: how a text ends whose last stop ends no sentence, though the segmenter says so: "M.", "im 16."
        dependent_start: the start of a text that points at what came before.
        loose_pronoun: pronouns that may have no antecedent.
        context_reference: what speaks of the text at hand: "the passage", "as mentioned".
        refusal: what stands where an answer was asked for and there is none.
        broad_question: questions that do not say what they are about.
        broken_question: questions whose verb is not well formed.
        second_question: how a question goes on to another one.
        alternative: what stands between two answers that a question offers: "or".
        boilerplate: page furniture, and headings above what is no running text.
        citation: signs and words of references.
        past, modal: verbs in the past; modal verbs.
        disclaiming: how words of disclaimers and licences begin.
        definite_start: a definite article and a word in lower case.
        address: pronouns for who speaks and who is spoken to.
        compares_times, compares_amounts: how the step ``multi_context`` is told to compare two things.
        condition_clause: conjunctions and prepositions that open a condition.
        condition_phrase: prepositions that open one at the start of a sentence.
    """

    code: str
    stop_words: frozenset[str] = frozenset()
    question_words: frozenset[str] = frozenset()
    stemmer: str = ""
    numerals: str = ""
    segmenter: str = ""
    unfinished: Pattern = NEVER
    dependent_start: Pattern = NEVER
    loose_pronoun: Pattern = NEVER
    context_reference: Pattern = NEVER
    refusal: Pattern = ANY_REFUSAL
    broad_question: Pattern = NEVER
    broken_question: Pattern = NEVER
    second_question: Pattern = NEVER
    alternative: Pattern = NEVER
    boilerplate: Pattern = ANY_PAGE_FURNITURE
    citation: Pattern = ANY_REFERENCES
    past: Pattern = NEVER
    modal: Pattern = NEVER
    disclaiming: Pattern = NEVER
    definite_start: Pattern = NEVER
    address: Pattern = NEVER
    compares_times: str = ""
    compares_amounts: str = ""
    condition_clause: str = ""
    condition_phrase: str = ""

    def sentences(self, text: str) -> list[str]:
        """Return the sentences of a text, without line breaks."""
        return list(sentences(text, self.segmenter or self.code, self.unfinished))

    def stem(self, token: str) -> str:
        """Return the stem of a token without a possessive ending."""
        return _stem(token, self.stemmer)

    def content_words(self, text: str) -> list[str]:
        """Return the stems of the words of a text that carry meaning, numbers among them."""
        return list(_content_words(text, self.stop_words, self.stemmer))

    def in_digits(self, text: str) -> str:
        """Return a text with digits for its number words, from three on: "one" and "two" may be other words."""
        return alpha2digit(text, self.numerals) if self.numerals else text

    def is_function_words(self, words: Iterable[str]) -> bool:
        """Return whether words, in lower case, are all function words."""
        return self.stop_words.issuperset(words)

    def question_word(self, question: str) -> int | None:
        """Return the position, in words, of the first question word, or None."""
        return next((place for place, token in enumerate(tokens(question)) if token in self.question_words), None)

    def offers_alternatives(self, question: str) -> bool:
        """Return whether a question names the answers to choose from."""
        return self.alternative.search(question) is not None

    def starts_dependent(self, text: str) -> bool:
        """Return whether a text opens with a pronoun or connective that points at what came before."""
        return self.dependent_start.match(text) is not None

    def loose_pronouns(self, text: str) -> int:
        """Count pronouns that may have no antecedent in the text."""
        return len(self.loose_pronoun.findall(text))

    def is_stated(self, answer: str) -> bool:
        """Return whether a completion claims to hold an answer."""
        return bool(answer) and self.refusal.match(answer) is None

    def conditions(self, sentence: str) -> list[str]:
        """Return the pieces of a sentence that read like a condition.

        That is what a conjunction opens, or a phrase of place, time or manner where the sentence opens with it and a
        comma ends it.
        """
        if not self.condition_clause:
            return []
        clause, phrase = rf"(?:{self.condition_clause})\b", rf"(?:{self.condition_phrase})\b"
        pieces = re.split(rf"([,;:.](?:\s+|$)|[()–—]|\s(?={clause}))", sentence)
        found = []
        for place in range(0, len(pieces), 2):
            piece = pieces[place].strip()
            opens = place == 0 and pieces[1:2] == [", "] and len(tokens(piece)) <= _OPENING_WORDS
            opens = opens and re.match(phrase, piece, re.IGNORECASE) is not None
            if opens or re.match(clause, piece, re.IGNORECASE):
                found.append(piece[0].lower() + piece[1:])
        return found


@lru_cache(_KEPT_TEXTS)
def _content_words(text: str, stop_words: frozenset[str], name: str) -> tuple[str, ...]:
    kept = (token for token in tokens(text) if token not in stop_words)
    return tuple(_stem(token, name) for token in kept if len(token) > 1 or token.isdigit())


@lru_cache(_KEPT_STEMS)
def _stem(token: str, name: str) -> str:
    bare = re.sub(r"['’]s?$", "", token)
    if not name:
        return bare
    with _STEMMING:
        return str(_stemmer(name).stemWord(bare))


@cache
def _stemmer(name: str) -> Any:
    return stemmer(name)
