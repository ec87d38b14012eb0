"""Measurements on the words of questions, for any language."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from programs.text import plain, tokens
from programs.types import Sample

_LONGEST = 24  # letters of a first word; scripts without spaces have no end of a word


def cut(text: str, longest: int) -> str:
    """Return a text with at most so many letters, and a sign that there were more."""
    return text if len(text) <= longest else f"{text[:longest].rstrip()} …"


def lengths(texts: Iterable[str]) -> list[int]:
    """Return how many words and numbers each text has."""
    return [len(tokens(text)) for text in texts]


def first_words(questions: Iterable[str]) -> list[str]:
    """Return the first word of each question in lower case; an empty text for one that has none."""
    return [(tokens(question) or [""])[0][:_LONGEST] for question in questions]


def distinct(questions: Iterable[str], size: int) -> tuple[int, int]:
    """Return how many different runs of ``size`` words there are in all questions, and how many runs at all.

    Source: J. Li et al., A diversity-promoting objective function for neural conversation models (2016), distinct-n.
    """
    found: set[tuple[str, ...]] = set()
    total = 0
    for question in questions:
        words = tokens(question)
        runs = [tuple(words[place : place + size]) for place in range(len(words) - size + 1)]
        found.update(runs)
        total += len(runs)
    return len(found), total


def overlaps(samples: Sequence[Sample]) -> NDArray[np.float64]:
    """Return for each question the share of its meaningful words that its passages hold; 0 if it has none."""
    from programs.languages import LANGUAGES
    from programs.languages.table import Languages

    languages = Languages(LANGUAGES)
    shares = np.zeros(len(samples))
    for place, sample in enumerate(samples):
        words = languages[sample.language].content_words
        asked = set(words(sample.question))
        held = {word for chunk in sample.contexts for word in words(plain(chunk.text))}
        shares[place] = len(asked & held) / len(asked) if asked else 0.0
    return shares
