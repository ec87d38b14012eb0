"""Measurements on embeddings: how alike questions are, how near to their passages, and how chunks lie."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from groundset.report.facts import RunFacts

Vectors = NDArray[np.float32]

_BLOCK = 512  # rows that are compared with all others at once
_DRAWN = 4000  # chunks that stand for all of them
_FEWEST = 3  # points that make a map
_SEED = 0


def unit(vectors: Vectors) -> Vectors:
    """Return rows of length one; a row of zeros stays."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), dtype=np.float32)


def nearest_other(vectors: Vectors) -> Vectors:
    """Return for each row the cosine of the row that is most like it; empty for fewer than two rows."""
    rows = unit(vectors)
    if len(rows) < 2:
        return np.empty(0, dtype=np.float32)
    found = np.empty(len(rows), dtype=np.float32)
    for start in range(0, len(rows), _BLOCK):
        likeness = rows[start : start + _BLOCK] @ rows.T
        own = np.arange(len(likeness))
        likeness[own, start + own] = -1
        found[start : start + _BLOCK] = likeness.max(axis=1)
    return found


def mean_likeness(vectors: Vectors) -> float | None:
    """Return the mean cosine of all pairs of different rows, None for fewer than two."""
    rows = unit(vectors).astype(np.float64)
    count = len(rows)
    if count < 2:
        return None
    total = np.linalg.norm(rows.sum(axis=0)) ** 2
    return float((total - np.sum(rows * rows)) / (count * (count - 1)))


def to_passages(facts: RunFacts) -> NDArray[np.float64] | None:
    """Return for each question its mean cosine with its own chunks, None where vectors are missing."""
    if facts.questions is None or facts.chunks is None or facts.questions.shape[1] != facts.chunks.shape[1]:
        return None
    found = np.zeros(len(facts.samples))
    questions = unit(facts.questions)
    for place, sample in enumerate(facts.samples):
        own = [facts.places[chunk.chunk_id] for chunk in sample.contexts if chunk.chunk_id in facts.places]
        if not own:
            return None
        found[place] = float((unit(facts.chunks[own]) @ questions[place]).mean())
    return found


class Reach(NamedTuple):
    """How near chunks are to the nearest one that is asked about, in the mean; ``chance`` is for a draw of as many."""

    mean: float
    chance: float
    chunks: int


def reach(vectors: Vectors, asked: Sequence[int]) -> Reach | None:
    """Return how well the chunks at places ``asked`` stand for all, None if none is asked about or all are."""
    if not asked or len(asked) == len(vectors):
        return None
    rng = np.random.default_rng(_SEED)
    looked = rng.choice(len(vectors), size=min(_DRAWN, len(vectors)), replace=False)
    drawn = rng.choice(len(vectors), size=len(asked), replace=False)
    rows = unit(vectors[looked])
    return Reach(_nearest(rows, unit(vectors[asked])), _nearest(rows, unit(vectors[drawn])), len(looked))


def _nearest(rows: Vectors, centres: Vectors) -> float:
    blocks = (rows[start : start + _BLOCK] @ centres.T for start in range(0, len(rows), _BLOCK))
    return float(np.concatenate([block.max(axis=1) for block in blocks]).mean())


class Plane(NamedTuple):
    """Where each row lies on the map, and the share of the variance that the map shows."""

    places: Vectors
    shown: float


def plane(vectors: Vectors) -> Plane | None:
    """Return the first two principal components of rows, None for fewer than three rows or rows that are all alike."""
    from sklearn.decomposition import PCA

    if len(vectors) < _FEWEST or vectors.shape[1] < 2 or not np.ptp(vectors, axis=0).any():
        return None
    rng = np.random.default_rng(_SEED)
    fitted = vectors[rng.choice(len(vectors), size=min(5 * _DRAWN, len(vectors)), replace=False)]
    found = PCA(n_components=2, random_state=_SEED).fit(fitted)
    places: Vectors = found.transform(vectors)
    return Plane(places, float(found.explained_variance_ratio_.sum()))
