"""Stage ``language``: refuses questions and answers in another language than the requested one."""

import re

from programs.language_detection import language_among
from programs.languages.names import name_of
from programs.steps.translate import MIN_WORDS
from programs.text import CAPITALISED, tokens
from programs.tools import Tools
from programs.trail import Trail

_STEP = "language"
_ENGLISH = "en"  # the language of prompts, into which small models fall back
_QUOTED = re.compile(r"[\"“„«][^\"“”„«»]*[\"“”»]")
_LEAST_BARE = 2  # words


def is_in_language(tools: Tools, trail: Trail, question: str, answer: str) -> bool:
    """Return whether question and answer are in the requested language, if there is one; refuse them otherwise.

    The alternatives are English and the languages of the passages. Of the German, French and Spanish gold rows none is
    refused, and every English question is. Quotations, names and answers of fewer than five words are not checked.
    """
    if not tools.language:
        return True
    codes = {tools.language, _ENGLISH, *(context.language for context in trail.contexts)}
    is_checked = len(tokens(answer)) >= MIN_WORDS and not (_is_name(answer) or _QUOTED.fullmatch(answer.strip(" .")))
    for what, text in (("question", question), *([("answer", answer)] if is_checked else [])):
        if (found := language_among(_without_names(text), codes)) != tools.language:
            reason = f"the {what} is in {name_of(found)}, not {name_of(tools.language)}"
            trail.refuse(_STEP, reason, question=question)
            return False
    return True


def _is_name(answer: str) -> bool:
    """Return whether most words of an answer are capitalised, as in a title."""
    return 2 * len(CAPITALISED.findall(answer)) > len(tokens(answer))


def _without_names(text: str) -> str:
    """Return a text without quotations and capitalised words after the first, unless too little is left.

    "Cuánto mide la Maurische Netzwühle" is Spanish.
    """
    first, _, others = _QUOTED.sub(" ", text).partition(" ")
    bare = f"{first} {CAPITALISED.sub(' ', others)}"
    return bare if len(tokens(bare)) >= _LEAST_BARE else text
