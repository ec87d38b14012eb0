"""Fitting the critic of a step to labels: heads, the threshold that keeps a precision, and what both do on rows.

Heads are fitted to train rows, and test rows only reported. The threshold is chosen on what runs wrote, by heads that
did not learn from the same documents, else on dev rows.
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
from optimizers.steps.worth import decision_value
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
FEWEST_ROWS = 10  # good and bad ones each
_FEWEST_ACCEPTED = 10
_FEWEST_OF_RUNS = 60


class Verdicts(NamedTuple):
    """The probabilities of labelled rows by split, the threshold, and what :func:`measure` says of both by split."""

    probabilities: Mapping[Split, Sequence[float]]
    threshold: float
    measures: Mapping[str, Mapping[str, Interval]]


class FittedCritic(NamedTuple):
    """Heads with the point of the curve that was chosen, and what they do there on each split.

    ``kinds`` holds what the threshold does by what questions ask for, where the curve is one of questions of runs.
    The verdicts on train rows, which were fitted to, flatter.
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
    """Fit the heads of a step that decides, so that ``target_precision`` of accepted rows are good (95 % confidence).

    Raises:
        LeakError: train or dev hold rows of the test split.
        LabelError: a split has too few good or bad rows.
        TargetPrecisionError: the dev rows do not support the precision.
    """
    fitting = FITTED[step]
    refuse_test_rows([*splits["train"], *splits["dev"]])
    for name, labels in splits.items():
        good = sum(label.good for label in labels)
        if min(good, len(labels) - good) < FEWEST_ROWS:
            raise LabelError(
                f"the labels of {step} hold {good} good and {len(labels) - good} bad rows in the split {name}; "
                f"it takes {FEWEST_ROWS} of each"
            )
    on_progress(f"Reading the evidence of {sum(map(len, splits.values()))} labelled rows")
    rows = {name: rows_of(step, labels, encoder, languages) for name, labels in splits.items()}
    heads: dict[str, LinearHead] = {}
    for output in fitting.outputs:
        on_progress(f"Fitting {output}")
        faults = fitting.faults.get(output, ())
        kept = [n for n, label in enumerate(splits["train"]) if not faults or label.reason in ("ok", *faults)]
        true = [splits["train"][place].good for place in kept]
        if len(true) - sum(true) < FEWEST_ROWS:
            continue  # too few rows have these faults; the output stays as it is set by hand
        heads[output] = fit_head(rows["train"].at(np.array(kept)), true, fitting.options, seed)
    found: dict[Split, list[float]] = {name: probabilities(heads[fitting.overall], rows[name]) for name in SPLITS}
    on_progress(f"Choosing the threshold of {step}")
    of_runs = _of_runs(splits, rows, found, fitting.options, seed)
    shown = of_runs or list(zip(splits["dev"], found["dev"], strict=True))
    curve = precision_curve([label.good for label, _ in shown], [probability for _, probability in shown])
    chosen = lowest_threshold(curve, target_precision)
    return FittedCritic(
        CriticHeads(step=step, heads=heads),
        chosen,
        thinned(curve, chosen),
        _by_kind(of_runs, chosen.threshold),
        verdicts(splits, found, chosen.threshold),
    )


def _of_runs(
    splits: Mapping[Split, Sequence[Label]],
    rows: Mapping[Split, Rows],
    found: Mapping[Split, Sequence[float]],
    options: FitOptions,
    seed: int,
) -> list[tuple[Label, float]]:
    """Return the train and dev rows that runs wrote, each with what a head says that was not fitted to its document.

    Nothing if they are too few for a threshold.
    """
    if sum(_kind(label) is not None for name in ("train", "dev") for label in splits[name]) < _FEWEST_OF_RUNS:
        return []
    held_out = held_out_probabilities(rows["train"], [label.good for label in splits["train"]], options, seed)
    both = [*zip(splits["train"], held_out, strict=True), *zip(splits["dev"], found["dev"], strict=True)]
    return [(label, probability) for label, probability in both if _kind(label)]


def _by_kind(shown: Sequence[tuple[Label, float]], threshold: float) -> dict[str, CurvePoint]:
    """Return what a threshold does by what the questions of runs ask for."""
    kinds: dict[str, list[tuple[bool, float]]] = {}
    for label, probability in shown:
        if kind := _kind(label):
            kinds.setdefault(kind, []).append((label.good, probability))
    return {kind: point_of(threshold, rows) for kind, rows in sorted(kinds.items())}


def _kind(label: Label) -> str | None:
    return label.kind if isinstance(label, QuestionLabel) else None


def measure(labels: Sequence[Label], probability: Sequence[float], threshold: float) -> dict[str, Interval]:
    """Return what a critic does on labelled rows at a threshold.

    That is the area under the ROC curve, the average precision, and the shares that are good of all that pass and of
    the questions of runs that pass; and by reason the share of rows that pass.
    """
    good = [label.good for label in labels]
    passed = [value >= threshold for value in probability]
    documents = [label.document for label in labels]
    figures = {
        "auc": bootstrap(area_under_roc, good, probability, documents),
        "average_precision": bootstrap(average_precision, good, probability, documents),
        "precision": share(sum(g for g, p in zip(good, passed, strict=True) if p), sum(passed)),
    }
    of_runs = [is_good for label, is_good, p in zip(labels, good, passed, strict=True) if p and _kind(label)]
    if of_runs:
        figures["precision_of_runs"] = share(sum(of_runs), len(of_runs))
    for reason in dict.fromkeys(label.reason for label in labels):
        of_reason = [p for label, p in zip(labels, passed, strict=True) if label.reason == reason]
        figures[f"passed_{reason}"] = share(sum(of_reason), len(of_reason))
    return figures


def thinned(curve: Sequence[CurvePoint], chosen: CurvePoint) -> tuple[CurvePoint, ...]:
    """Return enough points of a curve to draw it, the chosen one among them."""
    places = set(np.linspace(0, len(curve) - 1, _CURVE_POINTS).astype(int).tolist()) | {curve.index(chosen)}
    return tuple(curve[place] for place in sorted(places))


def thresholds_of(signature: type[dspy.Signature], threshold: float) -> dict[str, Any]:
    """Return the state of a bare predictor whose overall output has this threshold."""
    predict = dspy.Predict(signature)
    predict.fields = {deciding_output(signature): {"threshold": threshold}}
    state: dict[str, Any] = predict.dump_state()
    return state


def rows_of(step: str, labels: Sequence[Labelled], encoder: Encoder, languages: Languages) -> Rows:
    """Return labels as rows that a head is fitted to."""
    evidence, inputs = HEAD_FEATURES[step], [truncate(label.inputs) for label in labels]
    texts = [row[evidence.subject] for row in inputs]
    documents = [label.document for label in labels]
    return Rows(evidence.features(inputs, encoder, languages), encoder.encode(texts), texts, documents)


def verdicts(
    splits: Mapping[Split, Sequence[Label]], found: Mapping[Split, Sequence[float]], threshold: float
) -> Verdicts:
    """Measure the probabilities that a critic gives to labelled rows."""
    measures = {str(split): measure(splits[split], values, threshold) for split, values in found.items()}
    return Verdicts(found, threshold, measures)


def compare(
    splits: Mapping[Split, Sequence[Label]], before: Verdicts, after: Verdicts
) -> tuple[dict[str, dict[str, Interval]], list[dict[str, Any]]]:
    """Return the measures and the rows of a report; see :class:`optimizers.report.CompileReport`."""
    measures: dict[str, dict[str, Interval]] = {"before": {}, "after": {}, "gain": {}}
    rows: list[dict[str, Any]] = []
    for split in before.probabilities:
        scores: dict[str, list[float]] = {}
        documents = [label.document for label in splits[split]]
        for version, critic in (("before", before), ("after", after)):
            found = zip(splits[split], critic.probabilities[split], strict=True)
            scores[version] = [decision_value(label.good, p >= critic.threshold, p) for label, p in found]
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
                "before_probability": before.probabilities[split][place],
                "after_probability": after.probabilities[split][place],
                "before_score": scores["before"][place],
                "after_score": scores["after"][place],
            }
            for place, label in enumerate(splits[split])
        ]
    return measures, rows


def precision_curve(good: Sequence[bool], probability: Sequence[float]) -> list[CurvePoint]:
    """Return one point for each distinct probability, the lowest threshold first.

    A threshold lies halfway to the next lower probability, so that a row much like the last accepted one falls on
    its side.
    """
    rows = sorted(zip(probability, good, strict=True), key=lambda row: -row[0])
    total = sum(good)
    points: list[CurvePoint] = []
    passed = 0
    for place, (value, is_good) in enumerate(rows, 1):
        passed += is_good
        below = rows[place][0] if place < len(rows) else 0.0
        if place < len(rows) and below == value:
            continue
        points.append(_point(round((value + below) / 2, 6), passed, place, total))
    return points[::-1]


def point_of(threshold: float, rows: Sequence[tuple[bool, float]]) -> CurvePoint:
    """Return what a threshold does on rows: whether each is good, and its probability."""
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
    """Return the lowest threshold whose precision is at least ``target`` with 95 % confidence (one-sided).

    Raises:
        TargetPrecisionError: no threshold that accepts ten rows or more reaches it; the message names the best bound.
    """
    bounds = [(lower_bound(point.good, point.accepted), point) for point in curve if point.accepted >= _FEWEST_ACCEPTED]
    kept = [point for bound, point in bounds if bound >= target]
    if kept:
        return kept[0]
    best = max((bound for bound, _ in bounds), default=0.0)
    rows = curve[0].accepted if curve else 0
    raise TargetPrecisionError(
        f"--target-precision {target:g}: {rows} labelled rows support no more than {best:.2f}; "
        "ask for less or add labels (--labels)"
    )
