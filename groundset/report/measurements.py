"""Measurements on the questions of a run: words, embeddings and retrieval difficulty."""

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
_ENOUGH = 0.5  # share of the words; set by hand, not tuned
_LONGEST = 24  # characters of a first word; scripts without spaces do not separate words
_BLOCK = 512  # rows compared at once
_DRAWN = 4000  # chunks sampled to represent all
_FEWEST = 3  # points of a map
_SEED = 0


class Nearness(NamedTuple):
    """Mean cosine of ``chunks`` chunks with the nearest sampled chunk; ``chance``: with as many random chunks."""

    mean: float
    chance: float
    chunks: int


def cut(text: str, longest: int) -> str:
    """Truncate a text to ``longest`` characters, marked by an ellipsis."""
    return text if len(text) <= longest else f"{text[:longest].rstrip()} …"


def lengths(texts: Iterable[str]) -> list[int]:
    """Return the number of words and numbers in each text."""
    return [len(tokens(text)) for text in texts]


def first_words(questions: Iterable[str]) -> list[str]:
    """Return the lower-case first word of each question, empty if it has none."""
    return [(tokens(question) or [""])[0][:_LONGEST] for question in questions]


def distinct(questions: Iterable[str], size: int) -> tuple[int, int]:
    """Return the numbers of distinct and of all n-grams of ``size`` words (distinct-n).

    Source: J. Li et al., A diversity-promoting objective function for neural conversation models (2016).
    """
    ngrams = [
        gram for words in map(tokens, questions) for gram in zip(*(words[at:] for at in range(size)), strict=False)
    ]
    return len(set(ngrams)), len(ngrams)


def overlaps(samples: Sequence[Sample]) -> Values:
    """Return the share of each question's content words found in its passages; 0 if it has none."""
    from programs.languages import LANGUAGES
    from programs.languages.table import Languages

    languages = Languages(LANGUAGES)
    shares = np.zeros(len(samples))
    for index, sample in enumerate(samples):
        words = languages[sample.language].content_words
        question = set(words(sample.question))
        passage = {word for chunk in sample.contexts for word in words(plain(chunk.text))}
        shares[index] = len(question & passage) / len(question) if question else 0.0
    return shares


def found_within(samples: Iterable[Sample], rank: int) -> Values:
    """Return 1 for each question whose passage has ``rank`` or better, else 0."""
    return np.array([float(0 < (sample.retrieval.rank or 0) <= rank) for sample in samples])


def reciprocal_ranks(samples: Iterable[Sample]) -> Values:
    """Return the reciprocal rank of each question's passage, 0 if not found."""
    return np.array([1 / sample.retrieval.rank if sample.retrieval.rank else 0.0 for sample in samples])


def difficulties(samples: Sequence[Sample], shared: Values) -> list[str]:
    """Return the difficulty of each question; ``shared`` are the shares of its words found in its passage.

    Easy: rank 1 and at least half of the words. Middling: rank 1, or rank 2 to 5 and at least half of the words.
    Hard: all others.
    """
    met = found_within(samples, 1) + (shared >= _ENOUGH)
    found = np.where(found_within(samples, EARLY), met, 0)
    return [DIFFICULTIES[2 - int(conditions)] for conditions in found]


def unit(vectors: Vectors) -> Vectors:
    """Normalise rows to length one; zero rows stay zero."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(norms > 0, norms, 1), dtype=np.float32)


def nearest_other(vectors: Vectors) -> Vectors:
    """Return the cosine of each row with its nearest neighbour; empty for fewer than two rows."""
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


def mean_similarity(vectors: Vectors) -> float | None:
    """Return the mean cosine of all pairs of rows; None for fewer than two rows."""
    rows = unit(vectors).astype(np.float64)
    count = len(rows)
    if count < 2:
        return None
    total = np.linalg.norm(rows.sum(axis=0)) ** 2
    return float((total - np.sum(rows * rows)) / (count * (count - 1)))


def nearness(vectors: Vectors, sampled: Sequence[int]) -> Nearness | None:
    """Return how well the chunks at indices ``sampled`` represent the corpus; None if these are none or all."""
    if not sampled or len(sampled) == len(vectors):
        return None
    rng = np.random.default_rng(_SEED)
    compared = rng.choice(len(vectors), size=min(_DRAWN, len(vectors)), replace=False)
    drawn = rng.choice(len(vectors), size=len(sampled), replace=False)
    rows = unit(vectors[compared])
    return Nearness(_nearest(rows, unit(vectors[sampled])), _nearest(rows, unit(vectors[drawn])), len(compared))


def plane(vectors: Vectors) -> tuple[Vectors, float] | None:
    """Project rows on their first two principal components; also return the explained share of variance.

    None for fewer than three rows or identical rows.
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
