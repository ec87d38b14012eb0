"""Surface evidence on answers: their form, their support, their agreement."""

import re
from collections import Counter

from programs.languages.base import Language
from programs.text import CAPITALISED, has_words, numbers, share, tokens

_WINDOW = 6  # words on either side of an answer
_FEWEST_FIRST_WORDS, _PHRASE_WORDS = 3, 7


def kind_agrees(question: str, answer: str, language: Language) -> bool:
    """Return whether an answer has the form that the question's own words ask for."""
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
    """Return how an answer stands to its passage and question."""
    stem_answer = language.content_words(answer) or tokens(answer)
    passage_words = set(language.content_words(passage)) | set(tokens(passage))
    question_words = set(language.content_words(question))
    folded = " ".join(passage.split()).casefold()
    holding = [s for s in language.sentences(passage) if answer.strip(" .").casefold() in s.casefold()]
    shared = max(
        (share(len(question_words & set(language.content_words(s))), len(question_words)) for s in holding),
        default=0.0,
    )
    return {
        "words": float(len(tokens(answer))),
        "verbatim": float(" ".join(answer.split()).strip(" .").casefold() in folded),
        "supported": share(sum(word in passage_words for word in stem_answer), len(stem_answer)),
        "in_question": share(sum(word in question_words for word in stem_answer), len(stem_answer)),
        "kind_agrees": float(kind_agrees(question, answer, language)),
        "sentence_overlap": shared,
        "near": max((_near(s, answer, question_words, language) for s in holding), default=0.0),
        "mentions": float(min(5, folded.count(answer.strip(" .").casefold()))) if answer.strip() else 0.0,
    }


def _near(sentence: str, answer: str, question_words: set[str], language: Language) -> float:
    """Return how many of the content words beside the answer the question takes up, 1.0 for two or more.

    A question that leads to an answer is made of the words around it; one that merely names the sentence's
    subject is not.
    """
    start = sentence.casefold().find(answer.strip(" .").casefold())
    end = start + len(answer.strip(" ."))
    before = language.content_words(" ".join(sentence[:start].split()[-_WINDOW:]))
    after = language.content_words(" ".join(sentence[end:].split()[:_WINDOW]))
    beside = set(before) | set(after)
    return min(1.0, len(beside & question_words) / min(2, len(beside))) if beside else 1.0


def agreement(first: str, second: str) -> float:
    """Return the token F1 of two answers, 0 to 1."""
    left, right = Counter(tokens(first)), Counter(tokens(second))
    shared = sum((left & right).values())
    if not shared:
        return 0.0
    precision, recall = shared / sum(right.values()), shared / sum(left.values())
    return 2 * precision * recall / (precision + recall)


def answers_agree(found: str, meant: str, language: Language, threshold: float = 0.6) -> bool:
    """Return whether the answer that was found is the one that was meant, give or take its edges.

    The token F1 must reach the threshold, the numbers must be the same, and a shorter answer must end as the one
    that was meant does: a surname stands for a name, but "Phoenix" does not stand for "Phoenix Technologies". Only
    function words may lack elsewhere, and they count for nothing in a longer one. Numbers may be words. Of a phrase
    or clause the first words are enough: "a river of Ngorwe" for "a river of Ngorwe that rises in the west".
    """
    found, meant = language.in_digits(found), language.in_digits(meant)
    short, full = tokens(found), tokens(meant)
    if len(short) >= _FEWEST_FIRST_WORDS and len(full) >= _PHRASE_WORDS and short == full[: len(short)]:
        return True
    words = " ".join(language.content_words(found)), " ".join(language.content_words(meant))
    if max(agreement(found, meant), agreement(*words)) < threshold or numbers(found) != numbers(meant):
        return False
    if language.is_function_words(set(short) ^ set(full)):
        return True
    return len(short) >= len(full) or bool(numbers(meant)) or short == full[-len(short) :]


def answers_instead(question: str, found: str, meant: str, sentence: str, language: Language) -> bool:
    """Return whether a question that names the answer that was meant asks for the one that was found.

    Small models often ask for another part of the sentence than they were told: "On what date did the Star name
    its editor?", where the editor was meant. Such a question is as good as any if what it asks for stands in the
    same sentence, has the form that the question asks for, holds a name or number and repeats no word of it.
    """
    return bool(
        has_words(question, meant)
        and (re.search(r"\d", found) or CAPITALISED.search(found))
        and not set(language.content_words(found)) & set(language.content_words(question))
        and re.search(rf"(?<!\w){re.escape(found)}(?!\w)", sentence)
        and kind_agrees(question, found, language)
    )
