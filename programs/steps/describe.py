"""Step ``describe``: writes a phrase that can replace a name."""

import re

from programs.steps.base import Step
from programs.text import has_words
from signatures.describe import DescribeName

STEP = Step("describe", DescribeName, limits={"max_tokens": 40, "stop": ["\n"], "temperature": 0.0})


def tidy_phrase(text: str) -> str:
    """Return the phrase of a completion without surrounding punctuation."""
    return " ".join(text.split()).strip(" .,;:?!\"'")


def replace_name(question: str, name: str, phrase: str) -> str:
    """Return a question with a name replaced by a phrase; unchanged if the phrase is empty or contains the name.

    An article before the name is dropped if the phrase begins with the same one.
    """
    phrase = tidy_phrase(phrase)
    if not phrase or has_words(phrase, name):
        return question
    article = re.escape(phrase.split()[0])
    pattern = rf"(?<!\w)(?:{article}\s+)?{re.escape(name)}(?!\w)"
    return re.sub(pattern, lambda _: phrase, question, count=1, flags=re.IGNORECASE)
