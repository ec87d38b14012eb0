"""Evolution ``keywords``: the question as a keyword query, by rule.

The words that say what is asked for ("when", "how many") come first, then the content words in their order. Questions
with a negation or a formula have no keywords, because content words alone would ask for something else. Questions that
do not begin with words for what is asked have none either.
"""

import random
import re

from programs.evolutions.base import Evolution
from programs.languages.base import Language
from programs.text import tokens

_FEWEST = 2  # content words
_FORMULA = re.compile(r"[\^_=<>*+|\\{}$]")


def keywords(question: str, language: Language, rng: random.Random) -> str | None:
    """Return the keywords of a question, None if they would be too few or ask for something else."""
    del rng
    if language.negation.search(question) or _FORMULA.search(question):
        return None
    wanted = tokens(language.asking_words(question))
    words = [word for word in tokens(question) if word not in wanted and language.content_words(word)]
    return " ".join([*wanted, *words]) if wanted and len(words) >= _FEWEST else None


EVOLUTION = Evolution("keywords", "Rewords the question as a keyword query.", restyle=keywords)
