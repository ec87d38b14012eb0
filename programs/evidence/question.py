"""Surface evidence on questions and what they share with their passage."""

import re
from collections import Counter

from programs.evidence.text import CAPITALISED, share
from programs.language import language_of
from programs.words import (
    CONTEXT_REFERENCE,
    content_words,
    loose_pronouns,
    numbers,
    question_word,
    tokens,
)

_BROAD = re.compile(
    r"^(?:what|who|which) (?:is|are|was|were) (?:the )?(?:main |primary |overall )?(?:name|topic|subject|purpose|"
    r"significance|importance|meaning|answer|question|fact|role|title|focus|theme|idea|point|difference)\b"
    r"(?!.*\b(?:of|in|for|between)\b.*[A-Z0-9])|\bcorrect\b|\bwhat (?:happened|is (?:it|this|that))\b|"
    r"^(?:what|who) (?:is|was|are|were) [\w’' -]{1,40}\?$|^(?:was|wer) (?:ist|war|sind|waren) ",
    re.IGNORECASE,
)


_AUXILIARY = r"(?:did|does|do|was|were|is|are|am|has|have|had|can|could|will|would|shall|should|must|may|might)\b"
_MISSING_AUXILIARY = re.compile(
    r"^(?:(?:on|in|at|by|since|until) (?:what|which) (?:\w+ )?(?:date|year|day|month|night|time)|when|where|why) "
    rf"(?!{_AUXILIARY})",
    re.IGNORECASE,
)
_BROKEN_VERB = re.compile(
    r"\b(?:did|does|do)\b[^,?]*\b(?:was|were|been|is|are|be \w+ed)\b|\bdid\b[^,?]{1,60}\b(?:\w+ed|began|took|went|"
    r"made|won|wrote|led|left|became)\?$|\bdid\b[^,?]{1,80}\b(?:\w+ed|made|won|written|led|built|sold) by\b|"
    r"^what (?:is|was|are|were) (?:the |an? )?[^?]*\b\w+ed (?:in|on|at|to|and)\b",
    re.IGNORECASE,
)


_KEPT = 0.5  # share of the content words that a question keeps when it is only said otherwise


def lost_words(text: str, written: str, language: str) -> list[str]:
    """Return the content words of a text that a rewritten one lost; none as long as it kept enough of them."""
    wanted = [token for token in dict.fromkeys(tokens(text)) if content_words(token, language)]
    kept = set(content_words(written, language))
    lost = [word for word in wanted if not set(content_words(word, language)) & kept]
    return lost if len(lost) > (1 - _KEPT) * len(wanted) else []


def question_features(question: str, passage: str) -> dict[str, float]:
    """Return the surface features of a question and of what it shares with its passage."""
    language = language_of(passage)
    words = tokens(question)
    body = content_words(question, language)
    passage_words = Counter(content_words(passage, language))
    position = question_word(question, language)
    missing = [word for word in body if word not in passage_words]
    absent_numbers = numbers(question) - numbers(passage)
    names = [m.group() for m in CAPITALISED.finditer(question) if m.start() > 0]
    passage_folded = passage.casefold()
    return {
        "words": float(len(words)),
        "content_words": float(len(set(body))),
        "question_mark": float(question.rstrip().endswith("?")),
        "several": float(
            question.count("?") > 1 or bool(re.search(r"\?\s*\w|\band (?:what|who|when|where|why|how)\b", question))
        ),
        "question_word": float(position is not None),
        "question_word_late": float(position is not None and position > 2),
        "opens_with_question_word": float(position == 0 or (position == 1 and len(words) > 4)),
        "context_reference": float(bool(CONTEXT_REFERENCE.search(question))),
        "pronouns": float(loose_pronouns(question, language)),
        "other_language": float(language_of(question) != language and len(words) > 5),
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
        "ungrammatical": float(
            language == "en" and bool(_MISSING_AUXILIARY.search(question) or _BROKEN_VERB.search(question))
        ),
        "broad": float(bool(_BROAD.search(question))),
    }
