"""What a question asks for."""

from programs.languages.base import Language
from programs.languages.forms import KINDS as BY_WORDS
from programs.types import Focus

DEFINITION, THING = "definition", "thing"
KINDS = tuple(sorted((*BY_WORDS, DEFINITION, THING)))


def kind_of(question: str, focus: Focus, language: Language) -> str:
    """Return what a question about a focus asks for, one of ``KINDS``; its first words tell as much as all of it."""
    return DEFINITION if focus.defines else language.answer_kind(question) or THING
