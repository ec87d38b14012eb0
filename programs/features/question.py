"""Features of questions and of their overlap with the passage."""

import re
from collections import Counter

from programs.languages.base import Language
from programs.text import CAPITALISED, numbers, share, tokens

_MIN_KEPT = 0.5  # share of content words that a rephrased question keeps


def lost_words(text: str, written: str, language: Language) -> list[str]:
    """Return the content words of a text missing from a rewritten one; empty if enough of them are kept."""
    wanted = [token for token in dict.fromkeys(tokens(text)) if language.content_words(token)]
    kept = set(language.content_words(written))
    lost = [word for word in wanted if not set(language.content_words(word)) & kept]
    return lost if len(lost) > (1 - _MIN_KEPT) * len(wanted) else []


def question_features(question: str, passage: str, language: Language, detected: Language) -> dict[str, float]:
    """Return the features of a question and of its overlap with its passage.

    Args:
        question: the question.
        passage: the passage.
        language: the language of the passage.
        detected: the detected language of the question, which is often wrong for short texts.
    """
    either = (language, detected)
    words = tokens(question)
    body = language.content_words(question)
    passage_words = Counter(language.content_words(passage))
    position = language.question_word(question)
    missing = [word for word in body if word not in passage_words]
    absent_numbers = numbers(question) - numbers(passage)
    names = [m.group() for m in CAPITALISED.finditer(question) if m.start() > 0]
    passage_folded = passage.casefold()
    return {
        "words": float(len(words)),
        "content_words": float(len(set(body))),
        "question_mark": float(question.rstrip().endswith("?")),
        "several": float(
            question.count("?") > 1
            or bool(re.search(r"\?\s*\w", question))
            or any(each.second_question.search(question) for each in either)
        ),
        "question_word": float(position is not None),
        "question_word_late": float(position is not None and position > 2),
        "opens_with_question_word": float(position == 0 or (position == 1 and len(words) > 4)),
        "context_reference": float(any(each.context_reference.search(question) for each in either)),
        "pronouns": float(language.loose_pronouns(question)),
        "other_language": float(detected.code != language.code and len(words) > 5),
        "names": float(len(names)),
        "numbers": float(len(numbers(question))),
        "coverage": share(len(body) - len(missing), len(body)),
        "missing": float(len(missing)),
        "absent_numbers": float(len(absent_numbers)),
        "absent_names": float(sum(name.casefold() not in passage_folded for name in names)),
        "repeated_names": float(len(names) - len({name.casefold() for name in names})),
        "repeats": share(len(words) - len(set(words)), len(words)),
        "capital_or_digit": float(bool(re.match(r"\W*[^\W_a-zß-ÿ]", question))),
        "generic": float(len(set(body)) < 2 or (not names and not numbers(question) and len(set(body)) < 4)),
        "ungrammatical": float(bool(language.broken_question.search(question))),
        "broad": float(any(each.broad_question.search(question) for each in either)),
    }
