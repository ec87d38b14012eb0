"""Kinds of question."""

from programs.languages.base import Language
from programs.languages.forms import KINDS as BY_WORDS
from programs.types import Focus

DEFINITION, THING = "definition", "thing"
KINDS = tuple(sorted((*BY_WORDS, DEFINITION, THING)))


def kind_of(question: str, focus: Focus, language: Language) -> str:
    """Return the kind of a question about a focus, one of ``KINDS``; the first words of the question suffice."""
    return DEFINITION if focus.defines else language.answer_kind(question) or THING
