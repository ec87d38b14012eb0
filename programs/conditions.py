"""What a sentence makes its statement depend on, for evolution ``conditional``."""

from collections.abc import Iterator

from programs.languages.base import Condition, Language, Syntax
from programs.text import tokens
from programs.types import Focus

# Set by hand while samples of data/samples and of 16 articles of several kinds were read; fitted to nothing.
_WORDS = range(3, 16)
_FEWEST_NEW_WORDS = 2


def condition_in(focus: Focus, question: str, language: Language, syntax: Syntax | None = None) -> Condition | None:
    """Return what the focus states as a condition and the question does not name yet, or None.

    Where the language has a syntax, that is a clause which the question can be put under.
    """
    found: Iterator[Condition]
    if syntax:
        found = syntax.conditions(focus.fact, question)
    else:
        found = (Condition(text) for text in language.conditions(focus.sentence))
    return next((condition for condition in found if _adds(condition.text, focus, question, language)), None)


def _adds(condition: str, focus: Focus, question: str, language: Language) -> bool:
    """Return whether a condition is short, holds no answer, and says what the question does not."""
    words, asked, answer = tokens(condition), set(tokens(question)), set(tokens(focus.answer))
    given_away = answer - language.stop_words or answer
    if given_away & set(words) or language.context_reference.search(condition):
        return False
    new = [word for word in words if word not in asked and word not in language.stop_words]
    return len(words) in _WORDS and len(new) >= _FEWEST_NEW_WORDS
