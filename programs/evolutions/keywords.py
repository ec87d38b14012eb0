"""Evolution ``keywords``: the question as a keyword query, by rule.

The words that say what is asked for ("when", "how many") come first, then the content words in their order.
"""

import random

from programs.evolutions.base import Evolution
from programs.languages.base import Language
from programs.text import tokens

_FEWEST = 2  # content words


def keywords(question: str, language: Language, rng: random.Random) -> str | None:
    """Return the keywords of a question, None if it has too few content words."""
    del rng
    wanted = tokens(language.asking_words(question))
    words = [word for word in tokens(question) if word not in wanted and language.content_words(word)]
    return " ".join([*wanted, *words]) if len(words) >= _FEWEST else None


EVOLUTION = Evolution("keywords", "Rewords the question as a keyword query.", restyle=keywords)
