"""Choosing what to ask about: a self-contained sentence of a chunk and an answer span inside it."""

import re
from collections.abc import Sequence

from programs.features import sentence_features
from programs.languages.base import Language, Syntax
from programs.languages.table import Languages
from programs.text import NAME, tokens
from programs.types import Focus

# Set by hand while samples of data/samples and of 16 articles of several kinds were read; fitted to nothing.
_MIN_WORDS, _MAX_WORDS = 7, 60
_MAX_CHARACTERS = 2_000  # sixty words are some hundred; a number without end is one word, and takes minutes to search
_MAX_ANSWER_WORDS = 10
_ANSWERS_EACH = 3
_KEYPHRASE_BONUS = 1.1
_REPEAT_COST = 2.0
_MOST_QUESTION_WORDS = 4


def _sentence_worth(sentence: str, topic: str, language: Language) -> float:
    if len(sentence) > _MAX_CHARACTERS:
        return 0.0
    f = sentence_features(sentence, topic, language)
    if not _MIN_WORDS <= f["words"] <= _MAX_WORDS or not f["whole"] or f["code"] > 4 or f["citations"] > 1:
        return 0.0
    worth = 1.0 + 0.25 * min(3.0, f["names"]) + 0.15 * min(2.0, f["numbers"]) + 0.5 * f["names_topic"]
    worth -= 1.0 * f["starts_dependent"] + 0.25 * f["pronouns"] + 0.7 * f["context_reference"]
    return max(0.0, worth)


def _answer_worth(answer: str, sentence: str, topic: str, language: Language) -> float:
    words = tokens(answer)
    if not words or len(words) > _MAX_ANSWER_WORDS or len(words) > 0.6 * len(tokens(sentence)):
        return 0.0
    if language.is_function_words(words) or len(answer) < 2:
        return 0.0
    topic_words = set(language.content_words(topic))
    body = language.content_words(answer)
    if body and all(word in topic_words for word in body):
        return 0.0
    worth = 1.0
    worth += 0.6 * bool(re.search(r"\d", answer)) + 0.5 * bool(re.search(rf"\b{NAME}", answer))
    worth += 0.2 * (len(words) > 1) - 0.4 * sentence.startswith(answer)
    return worth


def foci_of(passage: str, topic: str, code: str, languages: Languages, keyphrases: Sequence[str] = ()) -> list[Focus]:
    """Return what a passage in the language with this code can be asked about; see :func:`choose_foci`."""
    language = languages[code]
    syntax, parses = languages.syntax_of(language), languages.parse is not None
    return choose_foci(passage, topic, language, keyphrases, syntax=syntax, easy_forms=not parses)


def open_foci(passage: str, topic: str, code: str, languages: Languages) -> list[Focus]:
    """Return the usable sentences of a passage, the most promising first, as foci that name no answer yet."""
    language = languages[code]
    worthy = _worthy(passage, topic, language, languages.syntax_of(language))
    return [focus for focus, _ in sorted(worthy, key=lambda each: -each[1])]


def _worthy(passage: str, topic: str, language: Language, syntax: Syntax | None) -> list[tuple[Focus, float]]:
    """Return the usable sentences in their order, as foci without an answer, each with its worth."""
    read = language.sentences(passage)
    names = syntax.resolved(read, topic) if syntax else {}
    foci = [Focus(sentence=sentence, answer="", resolved=names.get(sentence, "")) for sentence in read]
    worths = [(focus, _sentence_worth(focus.fact, topic, language)) for focus in foci]
    return [(focus, worth) for focus, worth in worths if worth]


def choose_foci(
    passage: str,
    topic: str,
    language: Language,
    keyphrases: Sequence[str] = (),
    *,
    syntax: Syntax | None = None,
    easy_forms: bool = False,
) -> list[Focus]:
    """Return every usable focus of a passage, the most promising first; a further answer of a sentence counts for less.

    What the syntax of a sentence gives a question with a name for is easy and comes first. Answers beside these are
    key phrases that stand in a sentence word for word, then dates, amounts and names; ``easy_forms`` says whether
    they are easy where their form gives question words, which is so in runs that parse nothing.
    """
    found: list[tuple[float, Focus]] = []
    worthy = _worthy(passage, topic, language, syntax)
    if syntax:
        syntax.read_ahead(of_sentence.fact for of_sentence, _ in worthy)
    for of_sentence, worth in worthy:
        sentence = of_sentence.sentence
        asked = syntax.askable(of_sentence.fact, topic, passage) if syntax else []
        asked = [each for each in asked if each.answer in sentence]
        for place, each in enumerate(asked[:_ANSWERS_EACH]):
            changes = {"answer": each.answer, "opening": each.opening, "easy": each.named, "defines": each.defines}
            focus = of_sentence.model_copy(update=changes)
            found.append((worth * each.worth - _REPEAT_COST * place, focus))
        answers: dict[str, float] = {}
        for phrase in keyphrases:
            if re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", sentence):
                answers[phrase] = _answer_worth(phrase, sentence, topic, language) * _KEYPHRASE_BONUS
        for span in language.spans(sentence):
            if not any(span in other or other in span for other in answers):
                answers[span] = _answer_worth(span, sentence, topic, language)
        known = {each.answer for each in asked}
        best = sorted((a for a in answers.items() if a[1] > 0 and a[0] not in known), key=lambda a: (-a[1], a[0]))
        for place, (answer, value) in enumerate(best[:_ANSWERS_EACH]):
            begins = language.opening(answer)
            changes = {"answer": answer, "opening": begins, "easy": bool(begins) and easy_forms}
            focus = of_sentence.model_copy(update=changes)
            found.append((worth * value - _REPEAT_COST * place, focus))
    return [focus for _, focus in sorted(found, key=lambda item: (not item[1].easy, -item[0]))]


def is_whole(focus: Focus) -> bool:
    """Return whether the opening of a focus is a question but for its mark, and not only question words."""
    return len(tokens(focus.opening)) > _MOST_QUESTION_WORDS


def likely_question(focus: Focus) -> str:
    """Return the question that a focus leads to as far as its words are known, else the fact that holds them."""
    return f"{focus.opening}?" if is_whole(focus) else focus.fact
