"""The step ``answer``: finds the answer to a question in its passage, or says that it is not stated."""

import re

from programs.features import answers_agree, answers_instead
from programs.languages.base import Language
from programs.steps.base import Step
from programs.text import has_words, plain, tokens
from programs.types import Focus
from signatures.answer import AnswerQuestion

_MOST_ADDED = 2

STEP = Step("answer", AnswerQuestion, limits={"max_tokens": 40, "stop": ["\n"], "temperature": 0.0})


def tidy_answer(text: str, question: str) -> str:
    """Return an answer without labels, markup, notes, a full stop after a phrase or words of "What is X?" before it."""
    text = plain(" ".join(text.split()))
    text = re.sub(r"^(?:(?:answer|antwort)\s*[:.]|a\s*:)\s*", "", text, flags=re.IGNORECASE).strip()
    if defined := re.fullmatch(r"(?:What|Who) (is|are|was|were) (.+?)\??", question):
        text = re.sub(rf"^{re.escape(defined[2])} {defined[1]} ", "", text, flags=re.IGNORECASE)
    return text[:-1].rstrip() if re.search(r"\w{2}\.$", text) and text.count(".") == 1 else text


def ground_truth(question: str, found: str, focus: Focus, passage: str, language: Language) -> str | None:
    """Return the answer to keep for what was found in the passage; None if it is another than the one meant."""
    meant = focus.answer
    if not language.is_stated(found):
        return None
    # What a thing is the sentence says outright; small models often answer with its name, which says nothing.
    if answers_agree(found, meant, language) or (focus.defines and has_words(question, found)):
        return _fuller(found, meant, passage, language)
    return found if answers_instead(question, found, meant, focus.sentence, language) else None


def _fuller(found: str, meant: str, passage: str, language: Language) -> str:
    """Return the answer that was found where it only completes a name, date or amount that was meant."""
    added = tokens(found.replace(meant, " ", 1)) if meant in found and found in passage else []
    complete = 0 < len(added) <= _MOST_ADDED and not set(added) & language.stop_words
    return found if complete else meant
