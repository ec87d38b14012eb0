"""Surface evidence on answers: their form, their support, their agreement."""

import re
from collections import Counter

from programs.evidence.text import CAPITALISED, sentences, share
from programs.language import language_of
from programs.words import content_words, has_words, is_function_word, numbers, tokens

_KINDS: tuple[tuple[str, str], ...] = (
    (
        r"\bhow (?:many|much|long|old|far|tall|high|often|deep|wide|large|big|fast|heavy)\b|"
        r"\bwhat (?:percentage|proportion|share)\b|\bwie ?(?:viele?|lange|oft|hoch|weit|groß)\b|"
        r"\bcombien\b|\bcuánt",
        "amount",
    ),
    (
        r"\b(?:when|(?:what|which) (?:year|date|day|month|decade|century|time)|wann|quand|cuándo|"
        r"welche[mns]? (?:jahr|tag|monat)|quelle (?:année|date)|qué (?:año|fecha))\b",
        "time",
    ),
    (r"\b(?:who|whom|whose|wer|wen|wem|qui|quién|quiénes)\b", "person"),
    (r"\b(?:where|wo|woher|wohin|où|dónde)\b", "place"),
    (r"\b(?:why|warum|weshalb|wieso|pourquoi|por qué)\b", "reason"),
)
_TIME_WORDS = re.compile(
    r"\b(?:\d{3,4}s?|\d{1,2}:\d\d|\d{1,2}(?:st|nd|rd|th)?|january|february|march|april|may|june|july|august|september|october|"
    r"november|december|januar|februar|märz|mai|juni|juli|oktober|dezember|century|spring|summer|autumn|winter|"
    r"monday|tuesday|wednesday|thursday|friday|saturday|sunday|day|days|night|morning|evening|week|weekly|annually|year|years|month|months|jahr|jahrhundert)\b",
    re.I,
)
_AMOUNT_WORDS = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundred|thousand|million|billion|"
    r"half|third|quarter|twice|once|every|daily|weekly|several|ein|eine|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|"
    r"zwölf|hundert|tausend|deux|trois|quatre|cinq|dos|tres|cuatro|cinco)\b",
    re.I,
)


_WINDOW = 6  # words on either side of an answer
_FEWEST_FIRST_WORDS, _PHRASE_WORDS = 3, 7


def answer_kind(question: str) -> str | None:
    """Return what a question asks for (amount, time, person, place, reason), None if it is open."""
    return next((kind for pattern, kind in _KINDS if re.search(pattern, question, re.IGNORECASE)), None)


def kind_agrees(question: str, answer: str) -> bool:
    """Say whether an answer has the form that the question's own words ask for."""
    kind = answer_kind(question)
    if kind == "amount":
        return bool(_AMOUNT_WORDS.search(answer))
    if kind == "time":
        return bool(_TIME_WORDS.search(answer))
    if kind in ("person", "place"):
        plain_number = not re.search(r"[^\W\d_]{3,}", answer)
        return not plain_number and (kind == "place" or bool(CAPITALISED.search(answer) or len(tokens(answer)) > 1))
    return not (kind == "reason" and len(tokens(answer)) < 3)


def answer_features(passage: str, question: str, answer: str) -> dict[str, float]:
    """Return how an answer stands to its passage and question."""
    language = language_of(passage)
    stem_answer = content_words(answer, language) or tokens(answer)
    passage_words = set(content_words(passage, language)) | set(tokens(passage))
    question_words = set(content_words(question, language))
    folded = " ".join(passage.split()).casefold()
    holding = [s for s in sentences(passage, language) if answer.strip(" .").casefold() in s.casefold()]
    shared = max(
        (share(len(question_words & set(content_words(s, language))), len(question_words)) for s in holding),
        default=0.0,
    )
    return {
        "words": float(len(tokens(answer))),
        "verbatim": float(" ".join(answer.split()).strip(" .").casefold() in folded),
        "supported": share(sum(word in passage_words for word in stem_answer), len(stem_answer)),
        "in_question": share(sum(word in question_words for word in stem_answer), len(stem_answer)),
        "kind_agrees": float(kind_agrees(question, answer)),
        "sentence_overlap": shared,
        "near": max((_near(s, answer, question_words, language) for s in holding), default=0.0),
        "mentions": float(min(5, folded.count(answer.strip(" .").casefold()))) if answer.strip() else 0.0,
    }


def _near(sentence: str, answer: str, question_words: set[str], language: str) -> float:
    """Return how many of the content words beside the answer the question takes up, 1.0 for two or more.

    A question that leads to an answer is made of the words around it; one that merely names the sentence's
    subject is not.
    """
    start = sentence.casefold().find(answer.strip(" .").casefold())
    end = start + len(answer.strip(" ."))
    before = content_words(" ".join(sentence[:start].split()[-_WINDOW:]), language)
    after = content_words(" ".join(sentence[end:].split()[:_WINDOW]), language)
    beside = set(before) | set(after)
    return min(1.0, len(beside & question_words) / min(2, len(beside))) if beside else 1.0


def agreement(first: str, second: str) -> float:
    """Return the token F1 of two answers, 0 to 1; 1.0 where one holds the other word for word."""
    left, right = Counter(tokens(first)), Counter(tokens(second))
    shared = sum((left & right).values())
    if not shared:
        return 0.0
    precision, recall = shared / sum(right.values()), shared / sum(left.values())
    return 2 * precision * recall / (precision + recall)


def answers_agree(found: str, meant: str, threshold: float = 0.6) -> bool:
    """Say whether the answer that was found is the one that was meant, give or take its edges.

    The token F1 must reach the threshold, the numbers must be the same, and a shorter answer must end as the one
    that was meant does: a surname stands for a name, but "Phoenix" does not stand for "Phoenix Technologies". Only
    function words may lack elsewhere. Of a phrase or clause the first words are enough: "a river of Ngorwe" for "a
    river of Ngorwe that rises in the west".
    """
    short, full = tokens(found), tokens(meant)
    if len(short) >= _FEWEST_FIRST_WORDS and len(full) >= _PHRASE_WORDS and short == full[: len(short)]:
        return True
    if agreement(found, meant) < threshold or numbers(found) != numbers(meant):
        return False
    if all(is_function_word(token) for token in set(short) ^ set(full)):
        return True
    return len(short) >= len(full) or bool(numbers(meant)) or short == full[-len(short) :]


def answers_instead(question: str, found: str, meant: str, sentence: str) -> bool:
    """Say whether a question that names the answer that was meant asks for the one that was found.

    Small models often ask for another part of the sentence than they were told: "On what date did the Star name
    its editor?", where the editor was meant. Such a question is as good as any if what it asks for stands in the
    same sentence, has the form that the question asks for, holds a name or number and repeats no word of it.
    """
    language = language_of(sentence)
    return bool(
        has_words(question, meant)
        and (re.search(r"\d", found) or CAPITALISED.search(found))
        and not set(content_words(found, language)) & set(content_words(question, language))
        and re.search(rf"(?<!\w){re.escape(found)}(?!\w)", sentence)
        and kind_agrees(question, found)
    )
