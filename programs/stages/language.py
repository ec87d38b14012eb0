"""Stage ``language``: refuses questions and answers in another language than the requested one."""

from programs.language_detection import language_among
from programs.languages.names import name_of
from programs.steps.translate import MIN_WORDS
from programs.text import tokens
from programs.tools import Tools
from programs.trail import Trail

_STEP = "language"
_ENGLISH = "en"  # the language of prompts, into which small models fall back


def is_in_language(tools: Tools, trail: Trail, question: str, answer: str) -> bool:
    """Return whether question and answer are in the requested language, if there is one; refuse them otherwise.

    The alternatives are English and the languages of the passages. Of the German, French and Spanish gold rows none is
    refused, and every English question is; answers of fewer than five words do not tell their language.
    """
    if not tools.language:
        return True
    codes = {tools.language, _ENGLISH, *(context.language for context in trail.contexts)}
    for what, text, least in (("question", question, 1), ("answer", answer, MIN_WORDS)):
        if len(tokens(text)) >= least and (found := language_among(text, codes)) != tools.language:
            reason = f"the {what} is in {name_of(found)}, not {name_of(tools.language)}"
            trail.refuse(_STEP, reason, question=question)
            return False
    return True
