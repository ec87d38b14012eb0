"""Fitting a linear head to labelled rows by logistic regression."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from programs.critics.linear import LinearHead
from programs.features import grams, shape, words_of
from programs.numbers import SMALLEST_DEVIATION

_FOLDS = 5
_EMBEDDING_C = 1.0  # inverse strength of the penalty; vectors have length one
_SMALLEST_WEIGHT = 0.005


class Rows(NamedTuple):
    """The data that a head is fitted to, one entry per row."""

    features: list[dict[str, float]]
    vectors: npt.NDArray[np.float32]
    texts: list[str]
    documents: list[str]

    def at(self, indices: Sequence[int] | npt.NDArray[np.intp]) -> "Rows":
        """Return the rows at these indices."""
        return Rows(
            [self.features[n] for n in indices],
            self.vectors[indices],
            [self.texts[n] for n in indices],
            [self.documents[n] for n in indices],
        )


class FitOptions(NamedTuple):
    """The options of a fit.

    Attributes:
        strength: inverse strength of the L2 penalty.
        embedding: whether the vectors are used.
        shapes: in how many documents a word or shape n-gram must occur to be used; 0 for no shapes.
    """

    strength: float = 0.03
    embedding: bool = True
    shapes: int = 5


def fit_head(rows: Rows, true: Sequence[bool], options: FitOptions, seed: int = 0) -> LinearHead:
    """Fit a head that separates the true rows from the others.

    The vectors enter as one feature: the score of a separate logistic regression. For fitting it is computed out of
    fold, because in-fold scores would get too much weight.
    """
    from sklearn.linear_model import LogisticRegression

    target = np.asarray(true, dtype=bool)
    names = list(rows.features[0])
    columns = [np.array([row[name] for row in rows.features], dtype=float) for name in names]
    embedding: tuple[float, ...] = ()
    if options.embedding:
        held_out, weights = _embedding_feature(rows, target, seed)
        names.append("embedding")
        columns.append(held_out)
        embedding = tuple(round(float(weight), 5) for weight in weights)
    matrix = np.column_stack(columns)
    means, deviations = matrix.mean(axis=0), matrix.std(axis=0)
    deviations[deviations < SMALLEST_DEVIATION] = 1.0
    vocabulary, known = _known_grams(rows, options.shapes) if options.shapes else (frozenset(), [])
    design = np.hstack([(matrix - means) / deviations, _gram_matrix(rows.texts, vocabulary, known)])
    model = LogisticRegression(C=options.strength, max_iter=3000, random_state=seed).fit(design, target)
    coefficients = model.coef_[0]
    numeric, others = coefficients[: len(names)], coefficients[len(names) :]
    return LinearHead(
        weights={
            name: (round(float(w), 5), round(float(m), 6), round(float(d), 6))
            for name, w, m, d in zip(names, numeric, means, deviations, strict=True)
        },
        bias=round(float(model.intercept_[0]), 5),
        embedding=embedding,
        vocabulary=vocabulary,
        grams={
            gram: round(float(weight), 4)
            for gram, weight in zip(known, others, strict=True)
            if abs(weight) >= _SMALLEST_WEIGHT
        },
    )


def held_out_probabilities(rows: Rows, true: Sequence[bool], options: FitOptions, seed: int = 0) -> list[float]:
    """Return the out-of-fold probability of each row (five folds, grouped by document)."""
    scores = np.zeros(len(rows.texts))
    target = np.asarray(true, dtype=bool)
    for rest, fold in _folds(rows.documents, target, seed):
        head = fit_head(rows.at(rest), target[rest], options, seed)
        scores[fold] = probabilities(head, rows.at(fold))
    return [float(value) for value in scores]


def probabilities(head: LinearHead, rows: Rows) -> list[float]:
    """Return the probability of each row."""
    return [
        head.probability(features, vector=vector, text=text)
        for features, vector, text in zip(rows.features, rows.vectors, rows.texts, strict=True)
    ]


def _folds(documents: Sequence[str], target: npt.NDArray[np.bool_], seed: int) -> list[tuple[Any, Any]]:
    """Split rows into folds, grouped by document and stratified by target."""
    from sklearn.model_selection import StratifiedGroupKFold

    splitter = StratifiedGroupKFold(_FOLDS, shuffle=True, random_state=seed)
    return list(splitter.split(np.zeros(len(documents)), target, groups=list(documents)))


def _embedding_feature(
    rows: Rows, target: npt.NDArray[np.bool_], seed: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    from sklearn.linear_model import LogisticRegression

    def fit(indices: Any) -> npt.NDArray[np.float64]:
        model = LogisticRegression(C=_EMBEDDING_C, max_iter=1000, random_state=seed)
        return np.asarray(model.fit(rows.vectors[indices], target[indices]).coef_[0], dtype=float)

    held_out = np.zeros(len(target))
    for rest, fold in _folds(rows.documents, target, seed):
        held_out[fold] = rows.vectors[fold] @ fit(rest)
    return held_out, fit(np.arange(len(target)))


def _known_grams(rows: Rows, fewest: int) -> tuple[frozenset[str], list[str]]:
    """Return the words that occur in enough documents, and the shape n-grams that occur often enough."""
    seen: dict[str, set[str]] = defaultdict(set)
    for text, document in zip(rows.texts, rows.documents, strict=True):
        for word in words_of(text):
            seen[word].add(document)
    vocabulary = frozenset(word for word, documents in seen.items() if len(documents) >= fewest)
    counts = Counter(gram for text in rows.texts for gram in grams(shape(text, vocabulary)))
    return vocabulary, sorted(gram for gram, count in counts.items() if count >= fewest)


def _gram_matrix(texts: Sequence[str], vocabulary: frozenset[str], known: Sequence[str]) -> npt.NDArray[np.float64]:
    columns = {gram: column for column, gram in enumerate(known)}
    matrix = np.zeros((len(texts), len(known)))
    for row, text in enumerate(texts):
        for gram in grams(shape(text, vocabulary)) if known else ():
            if gram in columns:
                matrix[row, columns[gram]] = 1.0
    return matrix
