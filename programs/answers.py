"""The forms of short answers: how they are found in a sentence, and how a question for them begins."""

import re

from programs.words import tokens

_UNIT = (
    r"(?:per cent|percent|%|(?:milli|kilo|centi)?(?:met(?:re|er)s?|grams?|tonnes?|lit(?:re|er)s?)|km|cm|mm|kg|"
    r"tonnes|tons|miles|feet|years?|months?|weeks?|days?|hours?|minutes?|seconds?|million|billion|thousand|"
    r"people|members|residents|employees|Jahren?|Monaten?|Tagen?|Stunden|Minuten|Prozent|Tonnen|Metern?|"
    r"Kilometern?|Hektar|Menschen|Euro|euros?|dollars?|pounds|votes)"
)
ENGLISH_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_MONTH = rf"(?:{ENGLISH_MONTHS}|Januar|Februar|März|Mai|Juni|Juli|Oktober|Dezember)"
_ASKS_TIME = r"(?:(?:in|on|at) )?(?:what|which) (?:year|date|day|month)|when\b|(?:in|an) welche[mn] (?:jahr|tag)|wann\b"
_TIME_PREPOSITION = r"in|on|since|by|until|from|of|in the year|im jahr|im|am|seit|bis|ab"
_FEWEST_QUESTION_WORDS = 5
_MULTIPLES = frozenset({"hundred", "thousand", "million", "billion", "tausend", "millionen", "milliarden"})
NAME = r"[^\W\d_a-zß-ÿ][\w’'-]+"
_SPANS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\b\d{{1,2}}\.? {_MONTH}(?: \d{{4}})?|\b{_MONTH} (?:\d{{1,2}}, )?\d{{4}}",
        rf"\b(?:\d+(?:[.,]\d+)* (?:and|to|or|bis|und|–|-) )\d+(?:[.,]\d+)*(?:[ -]{_UNIT})\b",
        rf"[$€£]?\b\d+(?:[.,:]\d+)*(?: (?:million|billion))?(?:[ -]{_UNIT})?\b%?",
        rf"\b{NAME}(?:(?: (?:of|the|and|von|der|de|du|del))? {NAME})+",
    )
)


_OPENINGS: dict[str, dict[str, str]] = {
    "en": {
        "year": "In which year",
        "date": "On what date",
        "share": "What percentage",
        "money": "How much",
        "amount": "How many",
        "reason": "Why",
    },
    "de": {
        "year": "In welchem Jahr",
        "date": "An welchem Tag",
        "share": "Wie viel Prozent",
        "money": "Wie viel",
        "amount": "Wie viele",
        "reason": "Warum",
    },
}


def opening(answer: str, language: str) -> str:
    """Return the words that a question for this answer begins with, or nothing where its form does not tell."""
    words = _OPENINGS.get(language, {})
    if re.fullmatch(r"1\d{3}|20\d\d", answer):
        return words.get("year", "")
    if re.fullmatch(rf"\d{{1,2}}\.? {_MONTH}(?: \d{{4}})?|{_MONTH} \d{{1,2}}(?:, \d{{4}})?", answer):
        return words.get("date", "")
    if re.search(r"\d\s?(?:%|per ?cent\b|Prozent\b)", answer):
        return words.get("share", "")
    if re.match(r"[$€£]", answer):
        return words.get("money", "")
    if counted := re.fullmatch(r"(?:about |up to |etwa )?\d+(?:[.,]\d+)* ([^\W\d_]{3,})", answer):
        return f"{words['amount']} {counted[1]}" if words and counted[1].casefold() not in _MULTIPLES else ""
    if re.match(r"(?:because|since|weil)\b", answer):
        return words.get("reason", "")
    return ""


def without_answer(question: str, answer: str) -> str:
    """Return a question that asks for a time, without the time that gives its own answer away.

    Small models often copy it: "In which year did the mill burn in 1893?". Only a phrase with a preposition goes,
    because without it the sentence still stands.
    """
    if not re.match(_ASKS_TIME, question, re.IGNORECASE):
        return question
    phrase = rf",?\s+(?:{_TIME_PREPOSITION})\s+{re.escape(answer)}(?!\w),?(?=\s|\?|$)"
    found = re.search(phrase, question, re.IGNORECASE)
    shorter = question if found is None else question[: found.start()] + question[found.end() :]
    return shorter if len(tokens(shorter)) >= _FEWEST_QUESTION_WORDS else question


def spans(sentence: str) -> list[str]:
    """Return spans that make short factual answers: dates, amounts and names of several words."""
    found: list[tuple[int, str]] = []
    taken: list[tuple[int, int]] = []
    for pattern in _SPANS:
        for match in pattern.finditer(sentence):
            start, end = match.span()
            if start == 0 or any(start < right and left < end for left, right in taken):
                continue
            taken.append((start, end))
            found.append((start, match.group()))
    return [text for _, text in sorted(found)]
