"""Step ``question``: asks about a fact so that the answer is the expected one."""

import re

from programs.focus import is_full_question
from programs.languages.base import Language
from programs.steps.base import Step
from programs.text import has_words, plain
from programs.types import Focus
from signatures.question import AskQuestion

# A question mark inside a question, such as in a title: lower case follows, and another question mark.
_INNER = r"\?[\"'»”’!,]*\s+[^\W\d_A-ZÀ-Þ][^?]*(?=\?)"
_FIRST = re.compile(rf"[^?]*(?:{_INNER})*\??")
# Shared by the steps that write one question.
LIMITS = {"max_tokens": 56, "stop": ["\n"], "temperature": 0.0}

STEP = Step("question", AskQuestion, limits=LIMITS)


def tidy_question(text: str) -> str:
    """Return the first question of a completion without labels, markup or doubled spaces."""
    text = plain(" ".join(text.split()))
    text = re.sub(r"^(?:question|frage|q)\s*\d*\s*[:.]\s*", "", text, flags=re.IGNORECASE)
    found = _FIRST.match(text)
    return re.sub(r"\s+\?$", "?", found[0] if found else "").strip()


def is_none(text: str) -> bool:
    """Return whether a model wrote "none" instead of a question."""
    return text.strip(" .\"'").casefold() == "none"


def seed_question(written: str, focus: Focus, language: Language) -> str:
    """Return the question of a completion; if it contains the answer, the full question of the focus, if any."""
    question = language.without_answer(tidy_question(written), focus.answer)
    return f"{focus.opening}?" if is_full_question(focus) and has_words(question, focus.answer) else question
