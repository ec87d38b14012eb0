"""Features of chunks, questions and answers: named numbers, computed without a model, that heads
weigh.

The shipped heads are fitted to exactly these values: a change of one needs new heads.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence

import regex

from groundset.programs.text import (
    CAPITALISED,
    CODE,
    LETTERS,
    NUMBER,
    SENTENCE_END,
    numbers,
    share,
    tokens,
)
from groundset.programs.words import Language

_WORD = re.compile(r"[^\W\d_][\w’'-]+")
_CAPITAL_START = re.compile(r"[\"“(]?[^\W_a-zß-ÿ]")
_LIST_LINE = re.compile(r"^\s*(?:[-*•|>#+]|\d{1,3}[.)]\s|\[\d+\]|\^)")
_KEY_LINE = re.compile(r"^\s*[^\s:][^:\n]{0,30}:\s")
# At most ten initials, or long sequences of them take quadratic time.
_INITIALS = re.compile(
    r"\b[A-Z]\.(?:\s?[A-Z]\.){0,9}\s?[A-Z][a-z]+|\b[A-Z][a-z]+,? [A-Z]{1,2}\b(?=[,.;])"
)
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_LINK = re.compile(r"https?://|www\.")
_QUOTE = re.compile(r"[\"“”«»„]")
_PAGES = re.compile(r"\b\d{1,4}\s?[–-]\s?\d{1,4}\b")
_MAX_DISTANCE = 60  # words before the first name; more count as this many
_WINDOW = 6  # words on either side of an answer
_MIN_PREFIX_WORDS, _MIN_PHRASE_WORDS = 3, 7
_MIN_AGREEMENT = 0.6


def chunk_features(passage: str, language: Language) -> dict[str, float]:
    """Return the features of a passage; shares are 0 to 1, rates are per 100 words."""
    text = passage.strip()
    words = tokens(text)
    found = language.sentences(text)
    lines = [line for line in text.splitlines() if line.strip()]
    whole = [s for s in found if SENTENCE_END.search(s) and len(tokens(s)) >= 6]
    rate = 100 / max(1, len(words))
    frequencies = {
        "citations": language.citation,
        "years": _YEAR,
        "boilerplate": language.boilerplate,
        "pronouns": language.loose_pronoun,
        "links": _LINK,
        "initials": _INITIALS,
        "page_ranges": _PAGES,
        "quotes": _QUOTE,
        "numbers": NUMBER,
        "past": language.past,
        "modal": language.modal,
        "disclaiming": language.disclaiming,
        "address": language.address,
    }
    return {
        "words": len(words),
        "whole_sentences": len(whole),
        "whole_share": share(sum(map(len, whole)), sum(map(len, found))),
        "stop_share": _part(words, language.stop_words.__contains__),
        "list_share": _part(lines, _LIST_LINE.match),
        "short_line_share": share(sum(len(line) < 40 for line in lines), len(lines)),
        "code": share(len(CODE.findall(text)), max(1, len(text))) * 100,
        "digit_share": _part(text, str.isdigit),
        "capital_share": share(
            sum(word[:1].isupper() for word in re.findall(r"\w+", text)), len(words)
        ),
        "starts_dependent": language.dependent_start.match(text) is not None,
        "starts_mid": bool(re.match(r"\W*[a-zß-ÿ]", text)) or text[:1] in ",;:)].…",
        "ends_open": not SENTENCE_END.search(text),
        "facts": (len(NUMBER.findall(text)) + len(CAPITALISED.findall(text))) * rate,
        "distinct": share(len(set(words)), len(words)),
        "key_lines": _part(lines, _KEY_LINE.match),
        "sentence_words": share(sum(len(tokens(s)) for s in found), len(found)),
        "line_length": share(len(text), len(lines)),
        "lines": min(30, len(lines)),
        "distinct_lines": share(len(set(lines)), len(lines)),
        "brackets": text.count("(") * rate,
        "commas": text.count(",") * rate,
        "colons": (text.count(":") + text.count(";")) * rate,
        "question_marks": text.count("?") * rate,
        **{name: len(each.findall(text)) * rate for name, each in frequencies.items()},
        **_naming(text, rate, language),
    }


def _part(items: Sequence[str], test: Callable[[str], object]) -> float:
    """Return the share of items that pass a test."""
    return share(sum(map(bool, map(test, items))), len(items))


def _naming(text: str, rate: float, language: Language) -> dict[str, float]:
    """Return features of how soon and how often a passage names things."""
    found = [s for s in language.sentences(text) if len(tokens(s)) >= 5]
    inside = {
        match.group().casefold()
        for s in found
        for match in CAPITALISED.finditer(s)
        if match.start() > 0
    }
    names = inside - language.stop_words

    def is_name(word: str) -> bool:
        bare = _WORD.search(word)
        return bare is not None and bare.group()[:1].isupper() and bare.group().casefold() in names

    words = text.split()
    first = next((n for n, word in enumerate(words) if is_name(word)), len(words))
    unnamed = " ".join(words[:first])
    head = next((s for s in found if _CAPITAL_START.match(s)), found[0] if found else "")
    return {
        "first_name": share(first, len(words)),
        "first_name_words": min(_MAX_DISTANCE, first),
        "pronouns_before_name": min(8, len(language.loose_pronoun.findall(unnamed))),
        "dependent_share": _part(found, language.dependent_start.match),
        "definite_share": _part(found, language.definite_start.match),
        "head_definite": language.definite_start.match(head) is not None,
        "head_dependent": language.dependent_start.match(head) is not None,
        "head_named": any(map(is_name, head.split())),
        "head_pronouns": min(4, len(language.loose_pronoun.findall(head))),
        "named_share": share(sum(any(map(is_name, s.split())) for s in found), len(found)),
        "names": min(20, len(names)),
        "names_rate": len(names) * rate,
    }


def question_features(
    question: str, passage: str, language: Language, detected: Language
) -> dict[str, float]:
    """Return the features of a question and of its overlap with its passage, which is in
    ``language``.

    The ``detected`` language of the question is often wrong for short texts.
    """
    either = (language, detected)
    words = tokens(question)
    body = language.content_words(question)
    passage_words = set(language.content_words(passage))
    position = next((n for n, word in enumerate(words) if word in language.question_words), None)
    missing = [word for word in body if word not in passage_words]
    names = [m.group() for m in CAPITALISED.finditer(question) if m.start() > 0]
    folded = passage.casefold()
    return {
        "words": len(words),
        "content_words": len(set(body)),
        "question_mark": question.rstrip().endswith("?"),
        "several": question.count("?") > 1
        or bool(re.search(r"\?\s*\w", question))
        or any(each.second_question.search(question) for each in either),
        "question_word": position is not None,
        "question_word_late": position is not None and position > 2,
        "opens_with_question_word": position == 0 or (position == 1 and len(words) > 4),
        "context_reference": any(each.refers_to_text(question) for each in either),
        "pronouns": len(language.loose_pronoun.findall(question)),
        "other_language": detected.code != language.code and len(words) > 5,
        "names": len(names),
        "numbers": len(numbers(question)),
        "coverage": share(len(body) - len(missing), len(body)),
        "missing": len(missing),
        "absent_numbers": len(numbers(question) - numbers(passage)),
        "absent_names": sum(name.casefold() not in folded for name in names),
        "repeated_names": len(names) - len({name.casefold() for name in names}),
        "repeats": share(len(words) - len(set(words)), len(words)),
        "capital_or_digit": bool(re.match(r"\W*[^\W_a-zß-ÿ]", question)),
        "generic": len(set(body)) < (2 if names or numbers(question) else 4),
        "ungrammatical": bool(language.broken_question.search(question)),
        "broad": any(each.broad_question.search(question) for each in either),
    }


def answer_features(
    passage: str, question: str, answer: str, language: Language
) -> dict[str, float]:
    """Return the features of an answer to a question about a passage."""
    stems = language.content_words(answer) or tokens(answer)
    passage_words = set(language.content_words(passage)) | set(tokens(passage))
    question_words = set(language.content_words(question))
    folded, bare = " ".join(passage.split()).casefold(), answer.strip(" .").casefold()
    containing = [s for s in language.sentences(passage) if bare in s.casefold()]
    shared = (
        share(len(question_words & set(language.content_words(s))), len(question_words))
        for s in containing
    )
    return {
        "words": len(tokens(answer)),
        "verbatim": " ".join(answer.split()).strip(" .").casefold() in folded,
        "supported": _part(stems, passage_words.__contains__),
        "in_question": _part(stems, question_words.__contains__),
        "kind_agrees": kind_agrees(question, answer, language),
        "sentence_overlap": max(shared, default=0.0),
        "near": max((_near(s, answer, question_words, language) for s in containing), default=0.0),
        "mentions": min(5, folded.count(bare)) if answer.strip() else 0.0,
    }


def _near(sentence: str, answer: str, question_words: set[str], language: Language) -> float:
    """Return how many of the content words next to the answer are in the question, 1.0 for two or
    more.

    A good question repeats words around its answer, not only the subject of the sentence.
    """
    start = sentence.casefold().find(answer.strip(" .").casefold())
    end = start + len(answer.strip(" ."))
    before = language.content_words(" ".join(sentence[:start].split()[-_WINDOW:]))
    after = language.content_words(" ".join(sentence[end:].split()[:_WINDOW]))
    beside = set(before) | set(after)
    return min(1.0, len(beside & question_words) / min(2, len(beside))) if beside else 1.0


def kind_agrees(question: str, answer: str, language: Language) -> bool:
    """Return whether the form of an answer fits the question words."""
    kind = language.asked_for(question)
    if kind in ("amount", "time"):
        return language.can_be(kind, answer)
    if kind in ("person", "place"):
        plain_number = not re.search(r"[^\W\d_]{3,}", answer)
        return not plain_number and (
            kind == "place" or bool(CAPITALISED.search(answer) or len(tokens(answer)) > 1)
        )
    return not (kind == "reason" and len(tokens(answer)) < 3)


def agreement(first: str, second: str) -> float:
    """Return the token F1 of two answers."""
    left, right = Counter(tokens(first)), Counter(tokens(second))
    return share(2 * (left & right).total(), left.total() + right.total())


def answers_agree(found: str, expected: str, language: Language) -> bool:
    """Return whether a found answer agrees with the expected one.

    Most tokens must be the same, and the numbers equal, in digits or words. A shorter answer must
    be the end of the expected one, apart from function words: a surname agrees with the full name,
    but "Phoenix" does not agree with "Phoenix Technologies". Of a long phrase, the first words
    suffice: "a river of Ngorwe" agrees with "a river of Ngorwe that rises in the west".
    """
    found, expected = language.in_digits(found), language.in_digits(expected)
    short, full = tokens(found), tokens(expected)
    if (
        len(short) >= _MIN_PREFIX_WORDS
        and len(full) >= _MIN_PHRASE_WORDS
        and short == full[: len(short)]
    ):
        return True
    words = " ".join(language.content_words(found)), " ".join(language.content_words(expected))
    if max(agreement(found, expected), agreement(*words)) < _MIN_AGREEMENT or numbers(
        found
    ) != numbers(expected):
        return False
    if language.stop_words >= set(short) ^ set(full):
        return True
    return len(short) >= len(full) or bool(numbers(expected)) or short == full[-len(short) :]


_TOKEN = regex.compile(rf"\d[\d.,:]*|{LETTERS}(?:['’]{LETTERS})?|[^\p{{L}}\p{{N}}_\s]")
_ENDINGS = ("tion", "ing", "ed", "ly", "en", "er", "s", "e")


def words_of(text: str) -> set[str]:
    """Return the words, numbers and punctuation of a text, casefolded."""
    return {match.group().casefold() for match in _TOKEN.finditer(text)}


def shape(text: str, vocabulary: Collection[str]) -> list[str]:
    """Return a text as a list of vocabulary words and of classes for all others, so that it
    generalises over topics.

    Consecutive capitalised words are one ``<name>``, a number is ``<number>``, other words are
    classed by their ending.
    """
    found = ["<start>"]
    for match in _TOKEN.finditer(text):
        token = match.group()
        folded = token.casefold()
        if folded in vocabulary or not token[0].isalnum():
            found.append(folded)
        elif token[0].isdigit():
            found.append("<number>")
        elif token[0].isupper() and match.start() > 0:
            if found[-1] != "<name>":
                found.append("<name>")
        else:
            ending = next((ending for ending in _ENDINGS if folded.endswith(ending)), "")
            found.append(f"<word {ending}>" if ending else "<word>")
    return [*found, "<end>"]


def grams(shape: list[str], longest: int = 3) -> Iterator[str]:
    """Yield each n-gram of a shape once, for n up to ``longest``, the shortest first."""
    ranges = (
        (start, start + n) for n in range(1, longest + 1) for start in range(len(shape) - n + 1)
    )
    yield from dict.fromkeys(" ".join(shape[start:end]) for start, end in ranges)
