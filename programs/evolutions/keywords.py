"""Evolution ``keywords``: the question as it is typed into a search box, by rule.

What is asked for stays ("when", "how many"); of the rest the words that carry meaning, in their order.
"""

import random

from programs.evolutions.base import Evolution
from programs.languages.base import Language
from programs.text import tokens

_FEWEST = 2  # words beside what is asked for: fewer do not say what is meant


def keywords(question: str, language: Language, chance: random.Random) -> str | None:
    """Return the words of a question that a search needs, None if too few of them are left."""
    del chance
    wanted = tokens(language.asking_words(question))
    words = [word for word in tokens(question) if word not in wanted and language.content_words(word)]
    return " ".join([*wanted, *words]) if len(words) >= _FEWEST else None


EVOLUTION = Evolution(
    "keywords", "Says the question in key words, as they are typed into a search box.", restyle=keywords
)
