"""Choosing foci: self-contained sentences of a chunk, and answer spans in them."""

import re
from collections.abc import Sequence

from programs.features import sentence_features
from programs.languages.base import Language, Syntax
from programs.languages.table import Languages
from programs.text import NAME, tokens
from programs.types import Focus

# Set by hand on samples from data/samples and 16 articles; not fitted.
_MIN_WORDS, _MAX_WORDS = 7, 60
_MAX_CHARACTERS = 2_000  # 60 words are some hundred; a huge number is one word, but takes minutes to search
_MAX_ANSWER_WORDS = 10
_MAX_ANSWERS = 3  # of one sentence
_KEYPHRASE_FACTOR = 1.1
_REPEAT_COST = 2.0
_MAX_QUESTION_WORDS = 4


def _sentence_score(sentence: str, topic: str, language: Language) -> float:
    if len(sentence) > _MAX_CHARACTERS:
        return 0.0
    f = sentence_features(sentence, topic, language)
    if not _MIN_WORDS <= f["words"] <= _MAX_WORDS or not f["whole"] or f["code"] > 4 or f["citations"] > 1:
        return 0.0
    score = 1.0 + 0.25 * min(3.0, f["names"]) + 0.15 * min(2.0, f["numbers"]) + 0.5 * f["names_topic"]
    score -= 1.0 * f["starts_dependent"] + 0.25 * f["pronouns"] + 0.7 * f["context_reference"]
    return max(0.0, score)


def _answer_score(answer: str, sentence: str, topic: str, language: Language) -> float:
    words = tokens(answer)
    if not words or len(words) > _MAX_ANSWER_WORDS or len(words) > 0.6 * len(tokens(sentence)):
        return 0.0
    if language.is_function_words(words) or len(answer) < 2:
        return 0.0
    topic_words = set(language.content_words(topic))
    body = language.content_words(answer)
    if body and all(word in topic_words for word in body):
        return 0.0
    score = 1.0
    score += 0.6 * bool(re.search(r"\d", answer)) + 0.5 * bool(re.search(rf"\b{NAME}", answer))
    score += 0.2 * (len(words) > 1) - 0.4 * sentence.startswith(answer)
    return score


def foci_of(passage: str, topic: str, code: str, languages: Languages, keyphrases: Sequence[str] = ()) -> list[Focus]:
    """Return the foci of a passage in the language with this code; see :func:`choose_foci`."""
    language = languages[code]
    syntax, parses = languages.syntax_of(language), languages.parse is not None
    return choose_foci(passage, topic, language, keyphrases, syntax=syntax, easy_forms=not parses)


def open_foci(passage: str, topic: str, code: str, languages: Languages) -> list[Focus]:
    """Return the usable sentences of a passage as foci without answers, the most promising first."""
    language = languages[code]
    scored = _usable_sentences(passage, topic, language, languages.syntax_of(language))
    return [focus for focus, _ in sorted(scored, key=lambda pair: -pair[1])]


def _usable_sentences(passage: str, topic: str, language: Language, syntax: Syntax | None) -> list[tuple[Focus, float]]:
    """Return the usable sentences in order, as foci without answers, with their scores."""
    sentences = language.sentences(passage)
    resolved = syntax.resolve_subjects(sentences, topic) if syntax else {}
    foci = [Focus(sentence=sentence, answer="", resolved=resolved.get(sentence, "")) for sentence in sentences]
    scored = [(focus, _sentence_score(focus.fact, topic, language)) for focus in foci]
    return [(focus, score) for focus, score in scored if score]


def choose_foci(
    passage: str,
    topic: str,
    language: Language,
    keyphrases: Sequence[str] = (),
    *,
    syntax: Syntax | None = None,
    easy_forms: bool = False,
) -> list[Focus]:
    """Return the foci of a passage, the most promising first; further answers of a sentence have lower scores.

    Answers are found by syntax, then among key phrases that occur in a sentence, then as dates, amounts and names.
    Foci by syntax whose question contains a name are easy and come first. With ``easy_forms``, for runs without a
    parser, other foci are easy if the form of their answer gives the question words.
    """
    found: list[tuple[float, Focus]] = []
    usable = _usable_sentences(passage, topic, language, syntax)
    if syntax:
        syntax.read_ahead(base.fact for base, _ in usable)
    for base, score in usable:
        sentence = base.sentence
        by_syntax = syntax.askable(base.fact, topic, passage) if syntax else []
        by_syntax = [askable for askable in by_syntax if askable.answer in sentence]
        for n, one in enumerate(by_syntax[:_MAX_ANSWERS]):
            changes = {"answer": one.answer, "opening": one.opening, "easy": one.named, "defines": one.defines}
            found.append((score * one.score - _REPEAT_COST * n, base.model_copy(update=changes)))
        answers: dict[str, float] = {}
        for phrase in keyphrases:
            if re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", sentence):
                answers[phrase] = _answer_score(phrase, sentence, topic, language) * _KEYPHRASE_FACTOR
        for span in language.spans(sentence):
            if not any(span in other or other in span for other in answers):
                answers[span] = _answer_score(span, sentence, topic, language)
        known = {askable.answer for askable in by_syntax}
        best = sorted((a for a in answers.items() if a[1] > 0 and a[0] not in known), key=lambda a: (-a[1], a[0]))
        for n, (answer, answer_score) in enumerate(best[:_MAX_ANSWERS]):
            opening = language.opening(answer)
            changes = {"answer": answer, "opening": opening, "easy": bool(opening) and easy_forms}
            found.append((score * answer_score - _REPEAT_COST * n, base.model_copy(update=changes)))
    return [focus for _, focus in sorted(found, key=lambda item: (not item[1].easy, -item[0]))]


def is_full_question(focus: Focus) -> bool:
    """Return whether the opening of a focus is a full question without its question mark."""
    return len(tokens(focus.opening)) > _MAX_QUESTION_WORDS


def likely_question(focus: Focus) -> str:
    """Return the full question of a focus if it has one, else its fact."""
    return f"{focus.opening}?" if is_full_question(focus) else focus.fact
