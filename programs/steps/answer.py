"""Step ``answer``: finds the answer to a question in its passage, or says that it is not stated."""

import re

from programs.features import answers_agree, asks_for_other_part
from programs.languages.base import Language
from programs.steps.base import Step
from programs.text import has_words, plain, tokens
from programs.types import Focus
from signatures.answer import AnswerQuestion

_MAX_ADDED = 2  # words

STEP = Step("answer", AnswerQuestion, limits={"max_tokens": 40, "stop": ["\n"], "temperature": 0.0})


def tidy_answer(text: str, question: str) -> str:
    """Return an answer without labels, markup, notes, the final full stop of a phrase, or an initial "X is"."""
    text = plain(" ".join(text.split()))
    text = re.sub(r"^(?:(?:answer|antwort)\s*[:.]|a\s*:)\s*", "", text, flags=re.IGNORECASE).strip()
    if defined := re.fullmatch(r"(?:What|Who) (is|are|was|were) (.+?)\??", question):
        text = re.sub(rf"^{re.escape(defined[2])} {defined[1]} ", "", text, flags=re.IGNORECASE)
    return text[:-1].rstrip() if re.search(r"\w{2}\.$", text) and text.count(".") == 1 else text


def ground_truth(question: str, found: str, focus: Focus, passage: str, language: Language) -> str | None:
    """Return the answer to keep, given the one found in the passage; None if that differs from the expected one."""
    expected = focus.answer
    if not language.is_stated(found):
        return None
    # For definitions, small models often answer with the name of the thing; the sentence has the definition.
    if answers_agree(found, expected, language) or (focus.defines and has_words(question, found)):
        return _more_complete(found, expected, passage, language)
    return found if asks_for_other_part(question, found, expected, focus.sentence, language) else None


def _more_complete(found: str, expected: str, passage: str, language: Language) -> str:
    """Return the found answer if it only completes a name, date or amount, else the expected one."""
    added = tokens(found.replace(expected, " ", 1)) if expected in found and found in passage else []
    completes = 0 < len(added) <= _MAX_ADDED and not set(added) & language.stop_words
    return found if completes else expected
