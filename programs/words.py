"""What is known of a language: its function words, patterns of its texts, and the forms of its
short answers.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from threading import Lock

from sentencex import segment
from snowballstemmer import stemmer
from text_to_num import alpha2digit

from groundset.programs.text import share, tokens

Pattern = re.Pattern[str]

NEVER = re.compile(r"(?!)")

# Words of web pages and bibliographies in any language.
_ANY_BOILERPLATE = r"cookies?|copyright|©|newsletter|log ?in|disclaimer"
_ANY_CITATION = (
    r"doi|isbn|issn|pmid|pmc|arxiv|bibcode|s2cid|et al|vol\.|pp?\. ?\d|ed\.\)|eds\.|"
    r"university press|journal of|proceedings|ibid|op\. cit"
)
# Phrases of models that find no answer; in English for any passage, because the instructions are
# English.
_ANY_REFUSAL = (
    r"not (?:stated|mentioned|given|specified|provided|known|said|available)|unknown|no answer|"
    r"n/?a|none(?! of (?!the (?:passage|text|document)))|nothing (?:is|was) (?:said|stated)|"
    r"the (?:passage|text|documents?) do(?:es)? not"
)
_ANY_TIME = r"\d{3,4}s?|\d{1,2}:\d\d|\d{1,2}"
_SHORT_LINE = 0.6  # of the longest line
_stemmer = cache(stemmer)
_STEMMING = Lock()  # Snowball stemmers are not thread-safe


def word_list(listed: str, separator: str = " ") -> frozenset[str]:
    """Return the words of a text, or the headings, between which a separator stands."""
    return frozenset(listed.split(separator))


def whole_words(*alternatives: str, as_written: bool = False) -> Pattern:
    """Return a pattern of whole words; ``as_written`` makes it case-sensitive."""
    return re.compile(rf"\b(?:{'|'.join(alternatives)})\b", 0 if as_written else re.IGNORECASE)


def at_start(*alternatives: str) -> Pattern:
    """Return a pattern for the first words of a text."""
    return re.compile(rf"\W*(?:{'|'.join(alternatives)})", re.IGNORECASE)


def page_furniture(*alternatives: str) -> Pattern:
    """Return a pattern of the boilerplate of web pages, in a language and in all languages."""
    return whole_words(_ANY_BOILERPLATE, *alternatives)


def references(*alternatives: str) -> Pattern:
    """Return a pattern of bibliographic references, in a language and in all languages."""
    words = "|".join((_ANY_CITATION, *alternatives))
    return re.compile(rf"\b(?:{words})\b|\^|\(\d{{4}}[a-z]?\)[.,]|https?://|www\.", re.IGNORECASE)


def refusals(*alternatives: str) -> Pattern:
    """Return a pattern of phrases for a missing answer, in a language and in English."""
    return re.compile(rf"\W*(?:{'|'.join((_ANY_REFUSAL, *alternatives))})\b", re.IGNORECASE)


_REFUSAL, _BOILERPLATE, _CITATION = refusals(), page_furniture(), references()


@dataclass(frozen=True, kw_only=True, eq=False)
class Language:
    """The words and patterns of a language; a language with only a code gets neutral ones, which
    never match.
    """

    code: str  # ISO 639-1
    stop_words: frozenset[str] = frozenset()  # function words
    articles: frozenset[str] = frozenset()  # that tell no answer from another one
    fillers: frozenset[str] = frozenset()  # that change nothing where an answer has more words
    question_words: frozenset[str] = frozenset()
    question_mark: str = "?"  # the end of a question
    stemmer: str = ""  # its name in Snowball; without it, each word is its own stem
    numerals: bool = False  # whether number words are recognised
    segmenter: str = ""  # the code of the language whose sentence rules are used, if it differs
    unfinished: Pattern = (
        NEVER  # what the segmenter wrongly takes for the end of a sentence: "M.", "im 16."
    )
    dependent_start: Pattern = NEVER  # of a text that refers to the text before it
    loose_pronoun: Pattern = NEVER  # pronouns that may have no antecedent
    context_reference: Pattern = (
        NEVER  # references to the text itself: "the passage", "as mentioned"
    )
    refusal: Pattern = _REFUSAL  # phrases for a missing answer
    unanswered: str = (
        "The documents do not say."  # the expected answer to a question that no document answers
    )
    broad_question: Pattern = NEVER  # questions that do not say what they are about
    broken_question: Pattern = NEVER  # questions with wrong verb forms
    second_question: Pattern = NEVER  # the start of a second question in a question
    alternative: Pattern = NEVER  # the word between the answers that a question offers: "or"
    boilerplate: Pattern = (
        _BOILERPLATE  # of web pages, and headings of sections without running text
    )
    citation: Pattern = _CITATION  # bibliographic references
    # Headings, in lower case, of sections with sources, links or contents.
    listings: frozenset[str] = frozenset()
    table_label: str = (
        ""  # a regular expression of the words that begin a table's caption, before its number
    )
    past: Pattern = NEVER  # verbs in the past tense
    modal: Pattern = NEVER  # modal verbs
    disclaiming: Pattern = NEVER  # beginnings of words in disclaimers and licences
    definite_start: Pattern = NEVER  # a definite article and a word in lower case
    address: Pattern = NEVER  # pronouns of the first and second person
    # Regular expressions of the words that ask for an amount, a time, a person, a place or a
    # reason, of which the first one counts, and of those that make an answer a time, beside
    # numbers, or an amount, beside digits.
    asks: Mapping[str, str] = field(default_factory=dict)
    months: str = ""
    time_words: str = ""
    amount_words: str = ""

    def sentences(self, text: str) -> list[str]:
        """Return the sentences of a text, without line breaks."""
        return list(_sentences(text, self.segmenter or self.code, self.unfinished))

    def content_words(self, text: str) -> list[str]:
        """Return the stems of the content words in a text, including numbers."""
        return list(_content_words(text, self.stop_words, self.stemmer))

    def shared_words(self, question: str, passage: str) -> float:
        """Return the share of the content words of a question that a passage has."""
        asked = set(self.content_words(question))
        return share(len(asked & set(self.content_words(passage))), len(asked))

    def in_digits(self, text: str) -> str:
        """Return a text with number words from three on replaced by digits; "one" and "two" are
        ambiguous.
        """
        return alpha2digit(text, self.code) if self.numerals else text

    def punctuated(self, question: str) -> str:
        """Return a question with the spacing of its question mark that is usual in the language."""
        asked = question.removesuffix("?")
        return question if asked == question else f"{asked.rstrip()}{self.question_mark}"

    def refers_to_text(self, text: str) -> bool:
        """Return whether a text refers to a text as such: "the passage", "as mentioned"."""
        return self.context_reference.search(text) is not None

    def is_stated(self, answer: str) -> bool:
        """Return whether a completion is an answer, and not a phrase for a missing one."""
        return bool(answer) and self.refusal.match(answer) is None

    def asked_for(self, question: str) -> str | None:
        """Return the kind of thing that the words of a question ask for, a key of ``asks``; None
        if they do not say.
        """
        kinds = self.asks.items()
        return next((kind for kind, words in kinds if re.search(words, question, re.I)), None)

    def can_be(self, kind: str, answer: str) -> bool:
        """Return whether an answer can be a ``time`` or an ``amount``."""
        return self._forms[kind].search(answer) is not None

    @cached_property
    def _forms(self) -> dict[str, Pattern]:
        amounts = rf"|\b(?:{self.amount_words})\b" if self.amount_words else ""
        times = whole_words(*filter(None, (_ANY_TIME, self.months, self.time_words)))
        return {"time": times, "amount": re.compile(rf"\d{amounts}", re.IGNORECASE)}


@lru_cache(256)
def _sentences(text: str, segmenter: str, unfinished: Pattern) -> tuple[str, ...]:
    """Return the sentences of a text; one that ends ``unfinished`` is joined with the next one."""
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
    """Join the lines of a block, except after a short line without punctuation, such as a heading
    or a date.
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


@lru_cache(1_024)
def _content_words(text: str, stop_words: frozenset[str], name: str) -> tuple[str, ...]:
    kept = (token for token in tokens(text) if token not in stop_words)
    return tuple(_stem(token, name) for token in kept if len(token) > 1 or token.isdigit())


@lru_cache(65_536)
def _stem(token: str, name: str) -> str:
    bare = re.sub(r"['’]s?$", "", token)
    if not name:
        return bare
    with _STEMMING:
        return str(_stemmer(name).stemWord(bare))
