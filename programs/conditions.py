"""Conditions in sentences, for the evolution ``conditional``."""

from collections.abc import Iterator

from programs.languages.base import Condition, Language, Syntax
from programs.text import tokens
from programs.types import Focus

# Set by hand on samples from data/samples and 16 articles; not fitted.
_WORDS = range(3, 16)
_MIN_NEW_WORDS = 2


def condition_in(focus: Focus, question: str, language: Language, syntax: Syntax | None = None) -> Condition | None:
    """Return a condition that the sentence of the focus states and the question lacks, or None.

    With a syntax, that is a clause that can be joined to the question.
    """
    found: Iterator[Condition]
    if syntax:
        found = syntax.conditions(focus.fact, question)
    else:
        found = (Condition(text) for text in language.conditions(focus.sentence))
    return next((condition for condition in found if _is_usable(condition.text, focus, question, language)), None)


def _is_usable(condition: str, focus: Focus, question: str, language: Language) -> bool:
    """Return whether a condition is short, does not contain the answer, and adds to the question."""
    words, question_words, answer = tokens(condition), set(tokens(question)), set(tokens(focus.answer))
    answer = answer - language.stop_words or answer
    if answer & set(words) or language.context_reference.search(condition):
        return False
    new = [word for word in words if word not in question_words and word not in language.stop_words]
    return len(words) in _WORDS and len(new) >= _MIN_NEW_WORDS
