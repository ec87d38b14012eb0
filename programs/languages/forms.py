"""The forms of short answers in a language: patterns to find them, and the question words for them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from programs.languages.words import NEVER, Pattern
from programs.text import NAME, tokens

# In order of precedence, for questions with the words of several kinds.
KINDS = ("amount", "time", "person", "place", "reason")
FORMS = ("year", "date", "share", "money", "amount", "reason")

_ANY_UNIT = "%|km|cm|mm|kg"
_ANY_TIME = r"\d{3,4}s?|\d{1,2}:\d\d|\d{1,2}"
_ANY_LINK = "von|der|de|du|del"  # particles of names in any language
_YEAR = r"1\d{3}|20\d\d"
# Set by hand on samples from data/samples and 16 articles; not fitted.
_MIN_QUESTION_WORDS = 5


@dataclass(frozen=True, kw_only=True, eq=False)
class Forms:
    """The forms of short answers in a language. Strings are regular expressions such as ``a|b``.

    Attributes:
        months: names of months, case-sensitive.
        units: units after numbers, case-sensitive, in addition to those of all languages.
        large: words for large numbers between a number and its unit.
        multiples: words for large numbers, in lower case; no question asks "how many millions".
        percent: words for the per cent sign.
        about: words before an approximate number.
        between: words between two numbers.
        name_links: words inside names, in addition to those of all languages.
        because: conjunctions of reasons.
        openings: the first words of a question, by the form of its answer (one of ``FORMS``).
        asks: the words of a question, by the kind that it asks for (one of ``KINDS``); case-insensitive.
        asks_time: the first words of a question for a time; case-insensitive.
        time_prepositions: prepositions before a time; case-insensitive.
        time_words: words that make an answer a time, beside numbers and months; case-insensitive.
        amount_words: words that make an answer an amount, beside digits; case-insensitive.
    """

    months: str = ""
    units: str = ""
    large: str = ""
    multiples: frozenset[str] = frozenset()
    percent: str = ""
    about: str = ""
    between: str = ""
    name_links: str = ""
    because: str = ""
    openings: Mapping[str, str] = field(default_factory=dict)
    asks: Mapping[str, str] = field(default_factory=dict)
    asks_time: str = ""
    time_prepositions: str = ""
    time_words: str = ""
    amount_words: str = ""

    def opening(self, answer: str) -> str:
        """Return the first words of a question for this answer; empty if its form does not determine them."""
        if re.fullmatch(_YEAR, answer):
            return self.openings.get("year", "")
        if self._date.fullmatch(answer):
            return self.openings.get("date", "")
        if re.search(rf"\d\s?(?:{_joined('%', self.percent)})", answer):
            return self.openings.get("share", "")
        if re.match(r"[$€£]", answer):
            return self.openings.get("money", "")
        if counted := re.fullmatch(rf"(?:{self.about})?\d+(?:[.,]\d+)* ([^\W\d_]{{3,}})", answer):
            words = self.openings.get("amount", "")
            return f"{words} {counted[1]}" if words and counted[1].casefold() not in self.multiples else ""
        if self.because and re.match(rf"(?:{self.because})\b", answer):
            return self.openings.get("reason", "")
        return ""

    def spans(self, sentence: str) -> list[str]:
        """Return the dates, amounts and names of several words in a sentence, as possible answers."""
        found: list[tuple[int, str]] = []
        taken: list[tuple[int, int]] = []
        for pattern in self._spans:
            for match in pattern.finditer(sentence):
                start, end = match.span()
                if start == 0 or any(start < right and left < end for left, right in taken):
                    continue
                taken.append((start, end))
                found.append((start, match.group()))
        return [text for _, text in sorted(found)]

    def without_answer(self, question: str, answer: str) -> str:
        """Return a question for a time without its own answer, which small models often copy.

        An example is "In which year did the mill burn in 1893?". Only a phrase with a preposition is removed.
        """
        if not self.asks_time or not re.match(self.asks_time, question, re.IGNORECASE):
            return question
        phrase = rf",?\s+(?:{self.time_prepositions})\s+{re.escape(answer)}(?!\w),?(?=\s|\?|$)"
        found = re.search(phrase, question, re.IGNORECASE)
        shorter = question if found is None else question[: found.start()] + question[found.end() :]
        return shorter if len(tokens(shorter)) >= _MIN_QUESTION_WORDS else question

    def answer_kind(self, question: str) -> str | None:
        """Return the kind that a question asks for, one of ``KINDS``; None if it has no such words."""
        return next((kind for kind, pattern in self._asks if pattern.search(question)), None)

    def asking_words(self, question: str) -> str:
        """Return the words that say what a question asks for, such as "how many"; empty if there are none."""
        found = next((match for _, pattern in self._asks if (match := pattern.search(question))), None)
        return found[0] if found else ""

    def is_time(self, answer: str) -> bool:
        """Return whether an answer can be a time."""
        return self._time.search(answer) is not None

    def is_amount(self, answer: str) -> bool:
        """Return whether an answer can be an amount."""
        return self._amount.search(answer) is not None

    @cached_property
    def _date(self) -> Pattern:
        month = f"(?:{self.months})"
        written = rf"\d{{1,2}}\.? {month}(?: \d{{4}})?|{month} \d{{1,2}}(?:, \d{{4}})?"
        return re.compile(written) if self.months else NEVER

    @cached_property
    def _spans(self) -> tuple[Pattern, ...]:
        month, unit = f"(?:{self.months})", f"(?:{_joined(_ANY_UNIT, self.units)})"
        between, large = f"(?:{_joined(self.between, '–|-')})", f"(?: (?:{self.large}))?" if self.large else ""
        dates = rf"\b\d{{1,2}}\.? {month}(?: \d{{4}})?|\b{month} (?:\d{{1,2}}, )?\d{{4}}" if self.months else r"(?!)"
        ranges = rf"\b(?:\d+(?:[.,]\d+)* {between} )\d+(?:[.,]\d+)*(?:[ -]{unit})\b"
        amounts = rf"[$€£]?\b\d+(?:[.,:]\d+)*{large}(?:[ -]{unit})?\b%?"
        names = rf"\b{NAME}(?:(?: (?:{_joined(self.name_links, _ANY_LINK)}))? {NAME})+"
        return tuple(re.compile(pattern) for pattern in (dates, ranges, amounts, names))

    @cached_property
    def _asks(self) -> tuple[tuple[str, Pattern], ...]:
        return tuple((kind, re.compile(self.asks[kind], re.IGNORECASE)) for kind in KINDS if kind in self.asks)

    @cached_property
    def _time(self) -> Pattern:
        return re.compile(rf"\b(?:{_joined(_ANY_TIME, self.months, self.time_words)})\b", re.IGNORECASE)

    @cached_property
    def _amount(self) -> Pattern:
        words = rf"|\b(?:{self.amount_words})\b" if self.amount_words else ""
        return re.compile(rf"\d{words}", re.IGNORECASE)


def _joined(*alternatives: str) -> str:
    return "|".join(filter(None, alternatives))
