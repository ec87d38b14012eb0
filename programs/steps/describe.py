"""The step ``describe``: finds a phrase that can stand in the place of a name."""

import re

from programs.steps.base import Step
from programs.text import has_words
from signatures.describe import DescribeName

STEP = Step("describe", DescribeName, limits={"max_tokens": 40, "stop": ["\n"], "temperature": 0.0})


def tidy_phrase(text: str) -> str:
    """Return the phrase of a completion without the signs around it."""
    return " ".join(text.split()).strip(" .,;:?!\"'")


def in_place_of(name: str, phrase: str, question: str) -> str:
    """Return a question with a phrase in the place of a name; as it was if the phrase holds the name, or nothing.

    An article before the name goes where the phrase begins with the same one.
    """
    phrase = tidy_phrase(phrase)
    if not phrase or has_words(phrase, name):
        return question
    article = re.escape(phrase.split()[0])
    pattern = rf"(?<!\w)(?:{article}\s+)?{re.escape(name)}(?!\w)"
    return re.sub(pattern, lambda _: phrase, question, count=1, flags=re.IGNORECASE)
