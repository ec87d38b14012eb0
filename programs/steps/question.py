"""The step ``question``: asks about a fact so that the answer is the one that was meant."""

import re
from collections.abc import Sequence

from programs.focus import is_whole
from programs.languages.base import Language
from programs.steps.base import Step
from programs.text import has_words
from programs.types import Focus
from signatures import AskQuestion

# Of every step that writes one question.
LIMITS = {"max_tokens": 56, "stop": ["\n"], "temperature": 0.0}

_BEFORE = 2  # sentences
_LONGEST_BEFORE = 240  # characters

STEP = Step("question", AskQuestion, limits=LIMITS)


def taught_inputs(topic: str, before: Sequence[str], focus: Focus) -> dict[str, str]:
    """Return what a model that was taught to ask is shown, what is said just before the fact among it.

    Two sentences, or one where two are long: they name what the fact calls it, she or the company.
    """
    shown = [sentence for sentence in before if not sentence.startswith("#")][-_BEFORE:]
    while len(shown) > 1 and sum(map(len, shown)) > _LONGEST_BEFORE:
        del shown[0]
    return {"topic": topic, "before": " ".join(shown), "fact": focus.fact, "answer": focus.answer}


def tidy_question(text: str) -> str:
    """Return the first question of a completion without labels, markup or doubled spaces."""
    text = re.sub(r"[*_`]+|\[\d+\]", "", " ".join(text.split()))
    text = re.sub(r"^(?:question|frage|q)\s*\d*\s*[:.]\s*", "", text, flags=re.IGNORECASE)
    head, mark, _ = text.partition("?")
    return (head.rstrip() + mark).strip()


def seed_question(written: str, focus: Focus, language: Language) -> str:
    """Return the question of a completion; the focus's own where syntax left nothing to write but the answer."""
    question = language.without_answer(tidy_question(written), focus.answer)
    if is_whole(focus) and has_words(question, focus.answer):
        return f"{focus.opening}?"  # the model put back what the words of the sentence leave open
    return question
