"""Features of answers: form, support by the passage, agreement."""

import re
from collections import Counter

from programs.languages.base import Language
from programs.text import CAPITALISED, has_words, numbers, share, tokens

_WINDOW = 6  # words on either side of an answer
_MIN_PREFIX_WORDS, _MIN_PHRASE_WORDS = 3, 7


def kind_agrees(question: str, answer: str, language: Language) -> bool:
    """Return whether the form of an answer fits the question words."""
    kind = language.answer_kind(question)
    if kind == "amount":
        return language.is_amount(answer)
    if kind == "time":
        return language.is_time(answer)
    if kind in ("person", "place"):
        plain_number = not re.search(r"[^\W\d_]{3,}", answer)
        return not plain_number and (kind == "place" or bool(CAPITALISED.search(answer) or len(tokens(answer)) > 1))
    return not (kind == "reason" and len(tokens(answer)) < 3)


def answer_features(passage: str, question: str, answer: str, language: Language) -> dict[str, float]:
    """Return the features of an answer to a question about a passage."""
    stem_answer = language.content_words(answer) or tokens(answer)
    passage_words = set(language.content_words(passage)) | set(tokens(passage))
    question_words = set(language.content_words(question))
    folded = " ".join(passage.split()).casefold()
    containing = [s for s in language.sentences(passage) if answer.strip(" .").casefold() in s.casefold()]
    shared = max(
        (share(len(question_words & set(language.content_words(s))), len(question_words)) for s in containing),
        default=0.0,
    )
    return {
        "words": float(len(tokens(answer))),
        "verbatim": float(" ".join(answer.split()).strip(" .").casefold() in folded),
        "supported": share(sum(word in passage_words for word in stem_answer), len(stem_answer)),
        "in_question": share(sum(word in question_words for word in stem_answer), len(stem_answer)),
        "kind_agrees": float(kind_agrees(question, answer, language)),
        "sentence_overlap": shared,
        "near": max((_near(s, answer, question_words, language) for s in containing), default=0.0),
        "mentions": float(min(5, folded.count(answer.strip(" .").casefold()))) if answer.strip() else 0.0,
    }


def _near(sentence: str, answer: str, question_words: set[str], language: Language) -> float:
    """Return how many of the content words next to the answer are in the question, 1.0 for two or more.

    A good question repeats words around its answer, not only the subject of the sentence.
    """
    start = sentence.casefold().find(answer.strip(" .").casefold())
    end = start + len(answer.strip(" ."))
    before = language.content_words(" ".join(sentence[:start].split()[-_WINDOW:]))
    after = language.content_words(" ".join(sentence[end:].split()[:_WINDOW]))
    beside = set(before) | set(after)
    return min(1.0, len(beside & question_words) / min(2, len(beside))) if beside else 1.0


def agreement(first: str, second: str) -> float:
    """Return the token F1 of two answers."""
    left, right = Counter(tokens(first)), Counter(tokens(second))
    shared = sum((left & right).values())
    if not shared:
        return 0.0
    precision, recall = shared / sum(right.values()), shared / sum(left.values())
    return 2 * precision * recall / (precision + recall)


def answers_agree(found: str, expected: str, language: Language, threshold: float = 0.6) -> bool:
    """Return whether a found answer agrees with the expected one.

    The token F1 must reach the threshold and the numbers must be equal, in digits or words. A shorter answer must be
    the end of the expected one, apart from function words: a surname agrees with the full name, but "Phoenix" does not
    agree with "Phoenix Technologies". For a long phrase, its first words suffice: "a river of Ngorwe" agrees with "a
    river of Ngorwe that rises in the west".
    """
    found, expected = language.in_digits(found), language.in_digits(expected)
    short, full = tokens(found), tokens(expected)
    if len(short) >= _MIN_PREFIX_WORDS and len(full) >= _MIN_PHRASE_WORDS and short == full[: len(short)]:
        return True
    words = " ".join(language.content_words(found)), " ".join(language.content_words(expected))
    if max(agreement(found, expected), agreement(*words)) < threshold or numbers(found) != numbers(expected):
        return False
    if language.is_function_words(set(short) ^ set(full)):
        return True
    return len(short) >= len(full) or bool(numbers(expected)) or short == full[-len(short) :]


def asks_for_other_part(question: str, found: str, expected: str, sentence: str, language: Language) -> bool:
    """Return whether a question contains the expected answer and asks for the found one instead.

    Small models often ask for another part of the sentence than instructed: "On what date did the Star name its
    editor?", where the editor is the expected answer. The question is still good if the found answer is in the same
    sentence, has the form that the question asks for, contains a name or number and shares no word with the question.
    """
    return bool(
        has_words(question, expected)
        and (re.search(r"\d", found) or CAPITALISED.search(found))
        and not set(language.content_words(found)) & set(language.content_words(question))
        and re.search(rf"(?<!\w){re.escape(found)}(?!\w)", sentence)
        and kind_agrees(question, found, language)
    )
