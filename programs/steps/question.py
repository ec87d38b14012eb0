"""The step ``question``: asks about a fact so that the answer is the one that was meant."""

import re

from programs.focus import is_whole
from programs.languages.base import Language
from programs.steps.base import Step
from programs.text import has_words, plain
from programs.types import Focus
from signatures.question import AskQuestion

# A question mark inside a question, as of a title: another one follows, and what follows it goes on in lower case.
_INNER = r"\?[\"'»”’!,]*\s+[^\W\d_A-ZÀ-Þ][^?]*(?=\?)"
_FIRST = re.compile(rf"[^?]*(?:{_INNER})*\??")
# Of every step that writes one question.
LIMITS = {"max_tokens": 56, "stop": ["\n"], "temperature": 0.0}

STEP = Step("question", AskQuestion, limits=LIMITS)


def tidy_question(text: str) -> str:
    """Return the first question of a completion without labels, markup or doubled spaces."""
    text = plain(" ".join(text.split()))
    text = re.sub(r"^(?:question|frage|q)\s*\d*\s*[:.]\s*", "", text, flags=re.IGNORECASE)
    found = _FIRST.match(text)
    return re.sub(r"\s+\?$", "?", found[0] if found else "").strip()


def is_none(text: str) -> bool:
    """Return whether a model wrote that there is no such question."""
    return text.strip(" .\"'").casefold() == "none"


def seed_question(written: str, focus: Focus, language: Language) -> str:
    """Return the question of a completion; the focus's own where syntax left nothing to write but the answer."""
    question = language.without_answer(tidy_question(written), focus.answer)
    if is_whole(focus) and has_words(question, focus.answer):
        return f"{focus.opening}?"  # the model put back what the words of the sentence leave open
    return question
