"""Fitting the critic of a step to labels: heads, and the threshold that reaches a target precision.

Heads are fitted to train rows; test rows are only reported. The threshold is chosen on generated questions if there are
enough, with out-of-fold probabilities for train rows, else on dev rows.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import dspy
import numpy as np

from optimizers.labels import SPLITS, Label, Labelled, QuestionLabel, Split, refuse_test_rows
from optimizers.logistic import FitOptions, Rows, fit_head, held_out_probabilities, probabilities
from optimizers.measures import (
    Interval,
    area_under_roc,
    average_precision,
    bootstrap,
    lower_bound,
    mean,
    mean_gain,
    share,
)
from optimizers.steps import FITTED
from optimizers.steps.worth import decision_score
from programs.critics.base import Encoder
from programs.critics.curve import CurvePoint
from programs.critics.head_features import HEAD_FEATURES
from programs.critics.heads import CriticHeads
from programs.critics.linear import LinearHead
from programs.deciding import OVERALL, deciding_output
from programs.errors import LabelError, TargetPrecisionError
from programs.languages.table import Languages
from programs.text import truncate

_CURVE_POINTS = 60
FEWEST_ROWS = 10  # good and bad each
_FEWEST_ACCEPTED = 10
_FEWEST_GENERATED = 60


class Verdicts(NamedTuple):
    """The probabilities of labelled rows by split, the threshold, and the measures of both by split."""

    probabilities: Mapping[Split, Sequence[float]]
    threshold: float
    measures: Mapping[str, Mapping[str, Interval]]


class FittedCritic(NamedTuple):
    """Fitted heads with the chosen point of the precision curve, and their verdicts on each split.

    ``kinds`` holds the point of the threshold by question kind, if the curve is from generated questions. The verdicts
    on train rows are in-sample.
    """

    heads: CriticHeads
    chosen: CurvePoint
    curve: tuple[CurvePoint, ...]
    kinds: Mapping[str, CurvePoint]
    verdicts: Verdicts


def fit_critic(
    step: str,
    splits: Mapping[Split, Sequence[Label]],
    encoder: Encoder,
    languages: Languages,
    *,
    target_precision: float,
    seed: int = 0,
    on_progress: Callable[[str], object] = str,
) -> FittedCritic:
    """Fit the heads of a step and choose a threshold for ``target_precision`` (with 95 % confidence).

    Raises:
        LeakError: train or dev contain rows of the test split.
        LabelError: a split has too few good or bad rows.
        TargetPrecisionError: the dev rows do not support the precision.
    """
    fitting = FITTED[step]
    refuse_test_rows([*splits["train"], *splits["dev"]])
    for name, labels in splits.items():
        good = sum(label.good for label in labels)
        if min(good, len(labels) - good) < FEWEST_ROWS:
            raise LabelError(
                f"too few labels of {step} in the split {name}: {good} good and {len(labels) - good} bad rows; "
                f"add labels until there are {FEWEST_ROWS} of each"
            )
    on_progress(f"Computing features of {sum(map(len, splits.values()))} labelled rows")
    rows = {name: rows_of(step, labels, encoder, languages) for name, labels in splits.items()}
    heads: dict[str, LinearHead] = {}
    for output in fitting.outputs:
        on_progress(f"Fitting {output}")
        faults = fitting.faults.get(output, ())
        kept = [n for n, label in enumerate(splits["train"]) if not faults or label.reason in ("ok", *faults)]
        true = [splits["train"][n].good for n in kept]
        if len(true) - sum(true) < FEWEST_ROWS:
            continue  # keeps the hand-set weights of this output
        heads[output] = fit_head(rows["train"].at(np.array(kept)), true, fitting.options, seed)
    scores: dict[Split, list[float]] = {name: probabilities(heads[fitting.overall], rows[name]) for name in SPLITS}
    on_progress(f"Choosing the threshold of {step}")
    generated = _generated(splits, rows, scores, fitting.options, seed)
    measured = generated or list(zip(splits["dev"], scores["dev"], strict=True))
    curve = precision_curve([label.good for label, _ in measured], [probability for _, probability in measured])
    chosen = lowest_threshold(curve, target_precision)
    return FittedCritic(
        CriticHeads(step=step, heads=heads),
        chosen,
        thinned(curve, chosen),
        _by_kind(generated, chosen.threshold),
        verdicts(splits, scores, chosen.threshold),
    )


def _generated(
    splits: Mapping[Split, Sequence[Label]],
    rows: Mapping[Split, Rows],
    scores: Mapping[Split, Sequence[float]],
    options: FitOptions,
    seed: int,
) -> list[tuple[Label, float]]:
    """Return the generated train and dev questions with out-of-sample probabilities; empty if there are too few."""
    if sum(_kind(label) is not None for name in ("train", "dev") for label in splits[name]) < _FEWEST_GENERATED:
        return []
    held_out = held_out_probabilities(rows["train"], [label.good for label in splits["train"]], options, seed)
    both = [*zip(splits["train"], held_out, strict=True), *zip(splits["dev"], scores["dev"], strict=True)]
    return [(label, probability) for label, probability in both if _kind(label)]


def _by_kind(rows: Sequence[tuple[Label, float]], threshold: float) -> dict[str, CurvePoint]:
    """Return the curve point of a threshold by question kind."""
    kinds: dict[str, list[tuple[bool, float]]] = {}
    for label, probability in rows:
        if kind := _kind(label):
            kinds.setdefault(kind, []).append((label.good, probability))
    return {kind: point_of(threshold, of_kind) for kind, of_kind in sorted(kinds.items())}


def _kind(label: Label) -> str | None:
    return label.kind if isinstance(label, QuestionLabel) else None


def measure(labels: Sequence[Label], probability: Sequence[float], threshold: float) -> dict[str, Interval]:
    """Return the measures of a critic on labelled rows at a threshold.

    They are the area under the ROC curve, the average precision, the precision on all rows and on generated questions,
    and the share of accepted rows by reason.
    """
    good = [label.good for label in labels]
    passed = [value >= threshold for value in probability]
    documents = [label.document for label in labels]
    figures = {
        "auc": bootstrap(area_under_roc, good, probability, documents),
        "average_precision": bootstrap(average_precision, good, probability, documents),
        "precision": share(sum(g for g, p in zip(good, passed, strict=True) if p), sum(passed)),
    }
    generated = [is_good for label, is_good, p in zip(labels, good, passed, strict=True) if p and _kind(label)]
    if generated:
        figures["precision_of_runs"] = share(sum(generated), len(generated))
    for reason in dict.fromkeys(label.reason for label in labels):
        of_reason = [p for label, p in zip(labels, passed, strict=True) if label.reason == reason]
        figures[f"passed_{reason}"] = share(sum(of_reason), len(of_reason))
    return figures


def thinned(curve: Sequence[CurvePoint], chosen: CurvePoint) -> tuple[CurvePoint, ...]:
    """Subsample the points of a curve for plotting; the chosen one is kept."""
    indices = set(np.linspace(0, len(curve) - 1, _CURVE_POINTS).astype(int).tolist()) | {curve.index(chosen)}
    return tuple(curve[n] for n in sorted(indices))


def thresholds_of(signature: type[dspy.Signature], threshold: float) -> dict[str, Any]:
    """Return the state of a predictor with this threshold for the overall output."""
    predict = dspy.Predict(signature)
    predict.fields = {deciding_output(signature): {"threshold": threshold}}
    state: dict[str, Any] = predict.dump_state()
    return state


def rows_of(step: str, labels: Sequence[Labelled], encoder: Encoder, languages: Languages) -> Rows:
    """Compute the features and vectors of labels."""
    evidence, inputs = HEAD_FEATURES[step], [truncate(label.inputs) for label in labels]
    texts = [row[evidence.subject] for row in inputs]
    documents = [label.document for label in labels]
    return Rows(evidence.features(inputs, encoder, languages), encoder.encode(texts), texts, documents)


def verdicts(
    splits: Mapping[Split, Sequence[Label]], scores: Mapping[Split, Sequence[float]], threshold: float
) -> Verdicts:
    """Measure a critic's probabilities of labelled rows."""
    measures = {str(split): measure(splits[split], values, threshold) for split, values in scores.items()}
    return Verdicts(scores, threshold, measures)


def compare(
    splits: Mapping[Split, Sequence[Label]], before: Verdicts, after: Verdicts
) -> tuple[dict[str, dict[str, Interval]], list[dict[str, Any]]]:
    """Return measures and rows for :class:`optimizers.report.CompileReport`."""
    measures: dict[str, dict[str, Interval]] = {"before": {}, "after": {}, "gain": {}}
    rows: list[dict[str, Any]] = []
    for split in before.probabilities:
        scores: dict[str, list[float]] = {}
        documents = [label.document for label in splits[split]]
        for version, critic in (("before", before), ("after", after)):
            pairs = zip(splits[split], critic.probabilities[split], strict=True)
            scores[version] = [decision_score(label.good, p >= critic.threshold, p) for label, p in pairs]
            measures[version][split] = mean(scores[version], documents)
            measures[version] |= {f"{split}_{name}": figure for name, figure in critic.measures[split].items()}
        measures["gain"][split] = mean_gain(scores["before"], scores["after"], documents)
        rows += [
            {
                "split": split,
                "id": label.id,
                "document": label.document,
                OVERALL: label.good,
                "reason": label.reason,
                "before_probability": before.probabilities[split][n],
                "after_probability": after.probabilities[split][n],
                "before_score": scores["before"][n],
                "after_score": scores["after"][n],
            }
            for n, label in enumerate(splits[split])
        ]
    return measures, rows


def precision_curve(good: Sequence[bool], probability: Sequence[float]) -> list[CurvePoint]:
    """Return one point for each distinct probability, in order of thresholds.

    A threshold is halfway to the next lower probability, so that rows similar to the last accepted one are accepted.
    """
    rows = sorted(zip(probability, good, strict=True), key=lambda row: -row[0])
    total = sum(good)
    points: list[CurvePoint] = []
    passed = 0
    for count, (value, is_good) in enumerate(rows, 1):
        passed += is_good
        below = rows[count][0] if count < len(rows) else 0.0
        if count < len(rows) and below == value:
            continue
        points.append(_point(round((value + below) / 2, 6), passed, count, total))
    return points[::-1]


def point_of(threshold: float, rows: Sequence[tuple[bool, float]]) -> CurvePoint:
    """Return the curve point of a threshold on pairs of label and probability."""
    accepted = [is_good for is_good, probability in rows if probability >= threshold]
    return _point(threshold, sum(accepted), len(accepted), sum(is_good for is_good, _ in rows))


def _point(threshold: float, good: int, accepted: int, total: int) -> CurvePoint:
    precision = share(good, accepted)
    return CurvePoint(
        threshold=threshold,
        accepted=accepted,
        good=good,
        precision=precision.value,
        low=precision.low,
        high=precision.high,
        recall=good / total if total else 0.0,
    )


def lowest_threshold(curve: Sequence[CurvePoint], target: float) -> CurvePoint:
    """Return the point of the lowest threshold with a precision of ``target`` (one-sided 95 % confidence).

    Raises:
        TargetPrecisionError: no threshold that accepts at least ten rows reaches it; names the best bound.
    """
    bounds = [(lower_bound(point.good, point.accepted), point) for point in curve if point.accepted >= _FEWEST_ACCEPTED]
    kept = [point for bound, point in bounds if bound >= target]
    if kept:
        return kept[0]
    best = max((bound for bound, _ in bounds), default=0.0)
    rows = curve[0].accepted if curve else 0
    raise TargetPrecisionError(
        f"--target-precision {target:g}: {rows} labelled rows support at most {best:.2f}; "
        "lower it or add labels with --labels"
    )
