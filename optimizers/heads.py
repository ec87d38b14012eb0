"""Fitting the heads of a step to labels, and the threshold that reaches a wanted precision.

Heads are fitted to train rows. The threshold is chosen on generated questions if there are enough,
with out-of-fold probabilities of train rows, else on dev rows. Test rows are only reported.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import dspy
import numpy as np
import numpy.typing as npt

from groundset.optimizers.examples import examples
from groundset.optimizers.labels import SPLITS, Label, Row
from groundset.programs.errors import LabelError
from groundset.programs.features import grams, shape, words_of
from groundset.programs.heads import (
    HEAD_STEPS,
    SMALLEST_DEVIATION,
    VECTOR,
    Encoder,
    LinearHead,
    StepHeads,
)
from groundset.programs.stats import LEVEL, area_under_curve, wilson
from groundset.programs.text import truncate

FEWEST_ROWS = 10  # good and bad each
_FEWEST_ACCEPTED = 10
_FEWEST_GENERATED = 60
_FOLDS = 5
# Inverse strengths of the L2 penalties; vectors have length one.
_STRENGTH, _VECTOR_STRENGTH = 0.03, 1.0
_FEWEST = 5  # documents that a word, and rows that an n-gram of shapes must occur in
_SMALLEST_WEIGHT = 0.005
_UNKNOWN = (0.0, 0.0, 1.0)  # a share of nothing

_Array = npt.NDArray[Any]
_Flags = npt.NDArray[np.bool_]
_Numbers = npt.NDArray[np.float64]
_Indices = npt.NDArray[np.intp]
Measures = Mapping[str, list[float]]  # with the bounds of its 95 % interval each

_WITH_VECTORS, _WITH_SHAPES = ("score",), ("score", "judge")
# the origin of questions by a strong writer, whose faults surface features do not show
_STRONG = "strong"


def rows_of(step: str, labels: Iterable[Row]) -> list[dspy.Example]:
    """Return the labelled rows of a step, in order; ``generated`` are questions that a run wrote
    and all its other steps accepted.
    """
    found = []
    for label in labels:
        is_foreign = step == "judge" and getattr(label, "origin", "") == _STRONG
        if is_foreign or not isinstance(label, Label):
            continue
        generated = step == "judge" and bool(getattr(label, "kind", ""))
        for row in examples(step, [label]):
            inputs = row.inputs().toDict()
            if step != "grounding":  # these heads see marks of markup, too
                inputs["passage"] = getattr(label, "text", "") or getattr(label, "passage", "")
            found.append(row.copy(**truncate(inputs), generated=generated))
    return found


def _inputs(rows: Iterable[dspy.Example]) -> list[dict[str, str]]:
    return [row.inputs().toDict() for row in rows]


class _Data(NamedTuple):
    """What heads are fitted to, one entry for each row."""

    features: _Array
    vectors: _Array  # of no length if they are not used
    texts: _Array
    documents: _Array
    good: _Array

    def at(self, rows: _Indices) -> "_Data":
        return _Data(*(part[rows] for part in self))


def fit_heads(
    step: str,
    labels: Sequence[Row],
    encoder: Encoder,
    *,
    target_precision: float = 0.85,
    seed: int = 0,
) -> StepHeads:
    """Return heads fitted to the train labels of a step, and the lowest threshold that reaches a
    precision.

    The precision is reached with 95 % confidence, one-sided. If the rows do not support it, the
    threshold is the one with the best bound; the record says which precision is supported.

    Raises:
        LabelError: there are too few good or bad rows for training or for the threshold.
    """
    head_step, rows = HEAD_STEPS[step], rows_of(step, labels)
    by_split = {
        name: np.array([n for n, row in enumerate(rows) if row.split == name], int)
        for name in SPLITS
    }
    good = np.array([row.good for row in rows], dtype=bool)
    for name in ("train", "dev"):
        goods = int(good[by_split[name]].sum())
        if min(goods, bads := len(by_split[name]) - goods) < FEWEST_ROWS:
            raise LabelError(
                f"too few labels of {step} in the split {name}: {goods} good and {bads} bad rows;"
                f" add labels until there are {FEWEST_ROWS} of each"
            )
    texts = [row[head_step.subject] for row in rows]
    documents = [row.document for row in rows]
    data = _Data(
        np.array(head_step.features(_inputs(rows), encoder)),
        encoder.encode(texts) if step in _WITH_VECTORS else np.zeros((len(rows), 0), np.float32),
        np.array(texts, object),
        np.array(documents, object),
        good,
    )
    train, heads = by_split["train"], {}
    fewest = _FEWEST if step in _WITH_SHAPES else math.inf
    for output in head_step.outputs:
        is_verdict = output == head_step.outputs[0]
        kept = train[[is_verdict or rows[n].good or rows[n].fault == output for n in train]]
        if np.count_nonzero(~good[kept]) >= FEWEST_ROWS:  # else this output is never the reason
            heads[output] = _fit(data.at(kept), fewest, seed)
    verdict = heads[head_step.outputs[0]]
    generated = np.array([row.generated for row in rows])
    measured = by_split["dev"]
    probability = _probabilities(verdict, data)
    trained = np.concatenate([train, by_split["dev"]])
    if np.count_nonzero(generated[trained]) >= _FEWEST_GENERATED:
        probability[train] = _out_of_fold(
            data.at(train),
            seed,
            lambda rest, fold: _probabilities(_fit(rest, fewest, seed), fold),
        )
        measured = trained[generated[trained]]
    threshold, bound = _threshold(probability[measured], good[measured], target_precision)
    fitted = StepHeads(step=step, embedder=encoder.sha256, threshold=threshold, heads=heads)
    measures = measures_of(fitted, [rows[n] for n in by_split["test"]], encoder)
    record = {
        "target_precision": target_precision,
        "supported_precision": round(bound, 4),
        "rows": {name: len(indices) for name, indices in by_split.items()},
        "seed": seed,
        "test": measures,
    }
    return fitted.model_copy(update={"record": record})


def measures_of(heads: StepHeads, rows: Sequence[dspy.Example], encoder: Encoder) -> Measures:
    """Return measures of heads on rows, each with its 95 % interval; empty without good or without
    bad rows.

    ``auc`` is the probability that a good row scores higher than a bad one; documents are
    resampled. ``precision`` is the share of good rows among the accepted ones, and ``recall`` the
    share of the good rows that is accepted, ``specificity`` of the bad rows that is refused
    (Wilson).
    """
    good = np.array([row.good for row in rows], dtype=bool)
    if good.all() or not good.any():
        return {}
    verdict = HEAD_STEPS[heads.step].outputs[0]
    found = heads.probabilities(_inputs(rows), encoder)
    probability = np.array([each[verdict] for each in found])
    passed = probability >= heads.threshold
    both, refused = int((good & passed).sum()), int((~good & ~passed).sum())
    measures = {
        "auc": area_under_curve(good, probability, [row.document for row in rows]),
        "precision": wilson(both, int(passed.sum())),
        "recall": wilson(both, int(good.sum())),
        "specificity": wilson(refused, int((~good).sum())),
    }
    return {
        name: [round(part, 4) for part in estimate or _UNKNOWN]
        for name, estimate in measures.items()
    }


def is_worse(measures: Measures, served: Measures) -> bool:
    """Return whether heads rank rows, or decide about them, worse than those that are served.

    Good and bad rows count alike in the decisions; what was not measured is not better.
    """
    if not measures or not served:
        return False
    decided, before = (each["recall"][0] + each["specificity"][0] for each in (measures, served))
    return measures["auc"][0] < served["auc"][0] or decided < before


def _fit(data: _Data, fewest: float, seed: int) -> LinearHead:
    """Fit a head that separates the good rows from the others.

    The vectors enter as one feature: the score of a separate logistic regression. For fitting it is
    computed out of fold, because in-fold scores would get too much weight.
    """
    from sklearn.linear_model import LogisticRegression

    names, embedding, good = list(data.features[0]), np.zeros(0), data.good
    columns = np.array([[row[name] for name in names] for row in data.features], float)
    if data.vectors.size:
        embedding = _vector_weights(data)
        held_out = _out_of_fold(data, seed, lambda rest, fold: fold.vectors @ _vector_weights(rest))
        names, columns = [*names, VECTOR], np.column_stack([columns, held_out])
    means, deviations = columns.mean(axis=0), columns.std(axis=0)
    deviations[deviations < SMALLEST_DEVIATION] = 1.0
    vocabulary, known, matrix = _shapes(data, fewest)
    design = np.hstack([(columns - means) / deviations, matrix])
    model = LogisticRegression(C=_STRENGTH, max_iter=3000).fit(design, good)
    weights = model.coef_[0]
    return LinearHead(
        weights={
            name: (round(float(w), 5), round(float(m), 6), round(float(d), 6))
            for name, w, m, d in zip(names, weights[: len(names)], means, deviations, strict=True)
        },
        bias=round(float(model.intercept_[0]), 5),
        embedding=tuple(round(float(weight), 5) for weight in embedding),
        vocabulary=vocabulary,
        grams={
            gram: round(float(weight), 4)
            for gram, weight in zip(known, weights[len(names) :], strict=True)
            if abs(weight) >= _SMALLEST_WEIGHT
        },
    )


def _vector_weights(data: _Data) -> _Numbers:
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=_VECTOR_STRENGTH, max_iter=1000).fit(data.vectors, data.good)
    return np.asarray(model.coef_[0], dtype=float)


def _out_of_fold(data: _Data, seed: int, score: Callable[[_Data, _Data], _Numbers]) -> _Numbers:
    """Return the score of each row by what is fitted to the others; folds are grouped by document
    and stratified by label.
    """
    from sklearn.model_selection import StratifiedGroupKFold

    splitter = StratifiedGroupKFold(_FOLDS, shuffle=True, random_state=seed)
    scores = np.zeros(len(data.good))
    for rest, fold in splitter.split(data.features, data.good, groups=data.documents):
        scores[fold] = score(data.at(rest), data.at(fold))
    return scores


def _probabilities(head: LinearHead, data: _Data) -> _Numbers:
    rows = zip(data.features, data.vectors, data.texts, strict=True)
    return np.array([head.probability(row, vector=vector, text=text) for row, vector, text in rows])


def _shapes(data: _Data, fewest: float) -> tuple[frozenset[str], list[str], _Numbers]:
    """Return the words of ``fewest`` documents, the n-grams of shapes in as many rows, and which
    row has which of these.
    """
    by_document: dict[str, set[str]] = defaultdict(set)
    for text, document in zip(data.texts, data.documents, strict=True):
        by_document[document] |= words_of(text)
    vocabulary = frozenset(_frequent(by_document.values(), fewest))
    rows = [set(grams(shape(text, vocabulary))) for text in data.texts]
    known = _frequent(rows, fewest)
    return vocabulary, known, np.array([[float(gram in row) for gram in known] for row in rows])


def _frequent(groups: Iterable[set[str]], fewest: float) -> list[str]:
    counts = Counter(each for group in groups for each in group)
    return sorted(each for each, count in counts.items() if count >= fewest)


def _bound(good: int, accepted: int) -> float:
    """Return the lower bound of a precision, with 95 % confidence on this one side."""
    estimate = wilson(good, accepted, 2 * LEVEL - 1)
    return estimate.low if estimate else 0.0


def _threshold(probability: _Numbers, good: _Flags, target: float) -> tuple[float, float]:
    """Return the lowest threshold whose precision has a lower bound of ``target``, else of the best
    bound; and it.

    A threshold is halfway to the next lower probability, so that rows similar to the last accepted
    one are accepted.
    """
    order = np.argsort(-probability, kind="stable")
    values, passed = probability[order], np.cumsum(good[order])
    points: list[tuple[float, float]] = []
    for count in range(min(_FEWEST_ACCEPTED, len(values)), len(values) + 1):
        below = float(values[count]) if count < len(values) else 0.0
        if below != values[count - 1]:
            threshold = round((float(values[count - 1]) + below) / 2, 6)
            points.append((threshold, _bound(int(passed[count - 1]), count)))
    reached = [point for point in points if point[1] >= target]
    return reached[-1] if reached else max(points, key=lambda point: point[1])
