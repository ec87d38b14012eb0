"""Measurements on the questions of a run: their words, their embeddings, and how hard their passages are to find."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from groundset.stats import Values
from programs.text import plain, tokens
from programs.types import Sample

Vectors = NDArray[np.float32]

DIFFICULTIES = ("easy", "middling", "hard")
EARLY = 5
_ENOUGH = 0.5  # of the words; set by hand, fitted to nothing
_LONGEST = 24  # letters of a first word; scripts without spaces have no end of a word
_BLOCK = 512  # rows that are compared with all others at once
_DRAWN = 4000  # chunks that stand for all of them
_FEWEST = 3  # points that make a map
_SEED = 0


class Nearness(NamedTuple):
    """The mean cosine of ``chunks`` chunks with the nearest one asked about; ``chance`` is for as many drawn ones."""

    mean: float
    chance: float
    chunks: int


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
    """Return how many different n-grams of ``size`` words there are in all questions, and how many n-grams at all.

    Source: J. Li et al., A diversity-promoting objective function for neural conversation models (2016), distinct-n.
    """
    ngrams = [
        gram for words in map(tokens, questions) for gram in zip(*(words[at:] for at in range(size)), strict=False)
    ]
    return len(set(ngrams)), len(ngrams)


def overlaps(samples: Sequence[Sample]) -> Values:
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


def found_within(samples: Iterable[Sample], rank: int) -> Values:
    """Return 1 for each question that found its passage at a rank or better, else 0."""
    return np.array([float(0 < (sample.retrieval.rank or 0) <= rank) for sample in samples])


def reciprocal_ranks(samples: Iterable[Sample]) -> Values:
    """Return one over the rank of each question's passage, 0 where it was not found."""
    return np.array([1 / sample.retrieval.rank if sample.retrieval.rank else 0.0 for sample in samples])


def difficulties(samples: Sequence[Sample], shared: Values) -> list[str]:
    """Return how hard each question is; ``shared`` is the share of its words that its passage holds.

    Easy: found first, with at least half of its words. Middling: found first, or among the first five with that many
    words. Hard: all others.
    """
    met = found_within(samples, 1) + (shared >= _ENOUGH)
    found = np.where(found_within(samples, EARLY), met, 0)
    return [DIFFICULTIES[2 - int(conditions)] for conditions in found]


def unit(vectors: Vectors) -> Vectors:
    """Return rows of length one; a row of zeros stays."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(norms > 0, norms, 1), dtype=np.float32)


def nearest_other(vectors: Vectors) -> Vectors:
    """Return for each row the cosine of the row that is most like it; empty for fewer than two rows."""
    rows = unit(vectors)
    if len(rows) < 2:
        return np.empty(0, dtype=np.float32)
    found = np.empty(len(rows), dtype=np.float32)
    for start in range(0, len(rows), _BLOCK):
        cosines = rows[start : start + _BLOCK] @ rows.T
        own = np.arange(len(cosines))
        cosines[own, start + own] = -1
        found[start : start + _BLOCK] = cosines.max(axis=1)
    return found


def mean_likeness(vectors: Vectors) -> float | None:
    """Return the mean cosine of all pairs of different rows, None for fewer than two."""
    rows = unit(vectors).astype(np.float64)
    count = len(rows)
    if count < 2:
        return None
    total = np.linalg.norm(rows.sum(axis=0)) ** 2
    return float((total - np.sum(rows * rows)) / (count * (count - 1)))


def nearness(vectors: Vectors, asked: Sequence[int]) -> Nearness | None:
    """Return how well the chunks at places ``asked`` stand for all, None if none is asked about or all are."""
    if not asked or len(asked) == len(vectors):
        return None
    rng = np.random.default_rng(_SEED)
    looked = rng.choice(len(vectors), size=min(_DRAWN, len(vectors)), replace=False)
    drawn = rng.choice(len(vectors), size=len(asked), replace=False)
    rows = unit(vectors[looked])
    return Nearness(_nearest(rows, unit(vectors[asked])), _nearest(rows, unit(vectors[drawn])), len(looked))


def plane(vectors: Vectors) -> tuple[Vectors, float] | None:
    """Return rows on their first two principal components, and the share of the variance that these show.

    None for fewer than three rows, or rows that are all alike.
    """
    from sklearn.decomposition import PCA

    if len(vectors) < _FEWEST or vectors.shape[1] < 2 or not np.ptp(vectors, axis=0).any():
        return None
    rng = np.random.default_rng(_SEED)
    fitted = vectors[rng.choice(len(vectors), size=min(5 * _DRAWN, len(vectors)), replace=False)]
    found = PCA(n_components=2, random_state=_SEED).fit(fitted)
    return found.transform(vectors), float(found.explained_variance_ratio_.sum())


def _nearest(rows: Vectors, centres: Vectors) -> float:
    blocks = (rows[start : start + _BLOCK] @ centres.T for start in range(0, len(rows), _BLOCK))
    return float(np.concatenate([block.max(axis=1) for block in blocks]).mean())
