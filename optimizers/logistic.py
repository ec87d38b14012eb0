"""Fitting a linear head to labelled rows."""

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
    """What a head is fitted to: one entry for each row, in the same order."""

    features: list[dict[str, float]]
    vectors: npt.NDArray[np.float32]
    texts: list[str]
    documents: list[str]

    def at(self, places: Sequence[int] | npt.NDArray[np.intp]) -> "Rows":
        """Return the rows at these places."""
        return Rows(
            [self.features[p] for p in places],
            self.vectors[places],
            [self.texts[p] for p in places],
            [self.documents[p] for p in places],
        )


class FitOptions(NamedTuple):
    """How a head is fitted.

    Attributes:
        strength: inverse strength of the L2 penalty.
        embedding: whether the vectors are evidence.
        shapes: in how many documents a word or a run of a shape must occur to count; 0 for no shapes.
    """

    strength: float = 0.03
    embedding: bool = True
    shapes: int = 5


def fit_head(rows: Rows, true: Sequence[bool], options: FitOptions, seed: int = 0) -> LinearHead:
    """Return the head that tells the true rows from the others.

    The vectors enter as one feature, a logistic regression of their own whose values for fitting come from
    documents it was not fitted to; otherwise the head would trust it too much.
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
    """Return each row's probability by a head that was fitted without the row's document (five folds)."""
    found = np.zeros(len(rows.texts))
    target = np.asarray(true, dtype=bool)
    for rest, fold in _folds(rows.documents, target, seed):
        head = fit_head(rows.at(rest), target[rest], options, seed)
        found[fold] = probabilities(head, rows.at(fold))
    return [float(value) for value in found]


def probabilities(head: LinearHead, rows: Rows) -> list[float]:
    """Return the probability of each row."""
    return [
        head.probability(features, vector=vector, text=text)
        for features, vector, text in zip(rows.features, rows.vectors, rows.texts, strict=True)
    ]


# Folds keep documents whole, and as far as that goes the share of true rows the same.
def _folds(documents: Sequence[str], target: npt.NDArray[np.bool_], seed: int) -> list[tuple[Any, Any]]:
    from sklearn.model_selection import StratifiedGroupKFold

    splitter = StratifiedGroupKFold(_FOLDS, shuffle=True, random_state=seed)
    return list(splitter.split(np.zeros(len(documents)), target, groups=list(documents)))


def _embedding_feature(
    rows: Rows, target: npt.NDArray[np.bool_], seed: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    from sklearn.linear_model import LogisticRegression

    def fit(places: Any) -> npt.NDArray[np.float64]:
        model = LogisticRegression(C=_EMBEDDING_C, max_iter=1000, random_state=seed)
        return np.asarray(model.fit(rows.vectors[places], target[places]).coef_[0], dtype=float)

    held_out = np.zeros(len(target))
    for rest, fold in _folds(rows.documents, target, seed):
        held_out[fold] = rows.vectors[fold] @ fit(rest)
    return held_out, fit(np.arange(len(target)))


def _known_grams(rows: Rows, fewest: int) -> tuple[frozenset[str], list[str]]:
    """Return the words that occur in enough documents, and the runs that then do."""
    seen: dict[str, set[str]] = defaultdict(set)
    for text, document in zip(rows.texts, rows.documents, strict=True):
        for word in words_of(text):
            seen[word].add(document)
    vocabulary = frozenset(word for word, documents in seen.items() if len(documents) >= fewest)
    counts = Counter(gram for text in rows.texts for gram in grams(shape(text, vocabulary)))
    return vocabulary, sorted(gram for gram, count in counts.items() if count >= fewest)


def _gram_matrix(texts: Sequence[str], vocabulary: frozenset[str], known: Sequence[str]) -> npt.NDArray[np.float64]:
    place = {gram: column for column, gram in enumerate(known)}
    matrix = np.zeros((len(texts), len(known)))
    for row, text in enumerate(texts):
        for gram in grams(shape(text, vocabulary)) if known else ():
            if gram in place:
                matrix[row, place[gram]] = 1.0
    return matrix
