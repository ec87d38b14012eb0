"""Choosing what to ask about: a self-contained sentence of a chunk and an answer span inside it."""

import re
from collections.abc import Sequence

from programs.evidence import sentence_features, sentences
from programs.types import Focus
from programs.words import content_words, stop_words, tokens

_MIN_WORDS, _MAX_WORDS = 7, 60
_MAX_ANSWER_WORDS = 10
_ANSWERS_EACH = 3
_KEYPHRASE_BONUS = 1.1
_REPEAT_COST = 2.0
_UNIT = (
    r"(?:per cent|percent|%|(?:milli|kilo|centi)?(?:met(?:re|er)s?|grams?|tonnes?|lit(?:re|er)s?)|km|cm|mm|kg|"
    r"tonnes|tons|miles|feet|years?|months?|weeks?|days?|hours?|minutes?|seconds?|million|billion|thousand|"
    r"people|members|residents|employees|Jahren?|Monaten?|Tagen?|Stunden|Minuten|Prozent|Tonnen|Metern?|"
    r"Kilometern?|Hektar|Menschen|Euro|euros?|dollars?|pounds|votes)"
)
_MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December|Januar|Februar|"
    r"März|Mai|Juni|Juli|Oktober|Dezember)"
)
_ASKS_TIME = r"(?:(?:in|on|at) )?(?:what|which) (?:year|date|day|month)|when\b|(?:in|an) welche[mn] (?:jahr|tag)|wann\b"
_TIME_PREPOSITION = r"in|on|since|by|until|from|of|in the year|im jahr|im|am|seit|bis|ab"
_FEWEST_QUESTION_WORDS = 5
_NAME = r"[^\W\d_a-zß-ÿ][\w’'-]+"
_SPANS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\b\d{{1,2}}\.? {_MONTH}(?: \d{{4}})?|\b{_MONTH} (?:\d{{1,2}}, )?\d{{4}}",
        rf"\b(?:\d+(?:[.,]\d+)* (?:and|to|or|bis|und|–|-) )\d+(?:[.,]\d+)*(?:[ -]{_UNIT})\b",
        rf"[$€£]?\b\d+(?:[.,:]\d+)*(?: (?:million|billion))?(?:[ -]{_UNIT})?\b%?",
        rf"\b{_NAME}(?:(?: (?:of|the|and|von|der|de|du|del))? {_NAME})+",
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
        return f"{words['amount']} {counted[1]}" if words else ""
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


def _sentence_worth(sentence: str, topic: str, language: str) -> float:
    f = sentence_features(sentence, topic, language)
    if not _MIN_WORDS <= f["words"] <= _MAX_WORDS or not f["whole"] or f["code"] > 4 or f["citations"] > 1:
        return 0.0
    worth = 1.0 + 0.25 * min(3.0, f["names"]) + 0.15 * min(2.0, f["numbers"]) + 0.5 * f["names_topic"]
    worth -= 1.0 * f["starts_dependent"] + 0.25 * f["pronouns"] + 0.7 * f["context_reference"]
    return max(0.0, worth)


def _answer_worth(answer: str, sentence: str, topic: str, language: str) -> float:
    words = tokens(answer)
    if not words or len(words) > _MAX_ANSWER_WORDS or len(words) > 0.6 * len(tokens(sentence)):
        return 0.0
    if all(word in stop_words(language) for word in words) or len(answer) < 2:
        return 0.0
    topic_words = set(content_words(topic, language))
    body = content_words(answer, language)
    if body and all(word in topic_words for word in body):
        return 0.0
    worth = 1.0
    worth += 0.6 * bool(re.search(r"\d", answer)) + 0.5 * bool(re.search(rf"\b{_NAME}", answer))
    worth += 0.2 * (len(words) > 1) - 0.4 * sentence.startswith(answer)
    return worth


def choose_foci(passage: str, topic: str, language: str, keyphrases: Sequence[str]) -> list[Focus]:
    """Return every usable focus of a passage, the most promising first, no sentence twice before each came once.

    Answers are key phrases that stand in a sentence word for word, then dates, amounts and names.
    """
    ranked: list[tuple[float, Focus]] = []
    for sentence in sentences(passage, language):
        worth = _sentence_worth(sentence, topic, language)
        if not worth:
            continue
        answers: dict[str, float] = {}
        for phrase in keyphrases:
            if re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", sentence):
                answers[phrase] = _answer_worth(phrase, sentence, topic, language) * _KEYPHRASE_BONUS
        for span in spans(sentence):
            if not any(span in other or other in span for other in answers):
                answers[span] = _answer_worth(span, sentence, topic, language)
        best = sorted((a for a in answers.items() if a[1] > 0), key=lambda a: (-a[1], a[0]))
        for place, (answer, value) in enumerate(best[:_ANSWERS_EACH]):
            ranked.append((worth * value - _REPEAT_COST * place, Focus(sentence=sentence, answer=answer)))
    ranked.sort(key=lambda item: -item[0])
    return [focus for _, focus in ranked]
