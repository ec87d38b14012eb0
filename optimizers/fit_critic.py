"""The strategy ``fit-head``: heads fitted to train rows, their threshold to dev rows, test rows only reported."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import dspy
import numpy as np

from optimizers.fit_head import FitOptions, Rows, fit_head, probabilities
from optimizers.labels import SPLITS, Label, Split, refuse_test_rows
from optimizers.measures import Interval, area_under_roc, average_precision, bootstrap, share
from optimizers.steps import FITTED
from optimizers.thresholds import lowest_threshold, precision_curve
from programs.critics.base import Encoder
from programs.critics.curve import CurvePoint
from programs.critics.evidence import HEAD_EVIDENCE
from programs.critics.heads import CriticHeads
from programs.critics.linear import LinearHead
from programs.deciding import OVERALL
from programs.errors import LabelError
from programs.languages.table import Languages

_CURVE_POINTS = 60
FEWEST_ROWS = 10  # good and bad ones each


class FittedCritic(NamedTuple):
    """Heads with the point of the curve that was chosen, and what they do there on each split.

    ``measures`` holds for each split the area under the ROC curve, the average precision, the share of good rows
    that pass and, by reason, the shares of bad ones that pass; those of train rows, which were fitted to, flatter.
    ``probabilities`` holds those of the rows by label id.
    """

    heads: CriticHeads
    chosen: CurvePoint
    curve: tuple[CurvePoint, ...]
    measures: dict[str, dict[str, Interval]]
    probabilities: dict[Split, dict[str, float]]


def fit_critic(
    step: str,
    splits: Mapping[Split, Sequence[Label]],
    encoder: Encoder,
    languages: Languages,
    *,
    target_precision: float,
    options: FitOptions | None = None,
    seed: int = 0,
    on_progress: Callable[[str], None] | None = None,
) -> FittedCritic:
    """Fit the heads of a step that decides.

    Args:
        step: its name.
        splits: what to fit to (``train``), to choose the threshold on (``dev``) and to report (``test``).
        encoder: embeds texts.
        languages: what the evidence knows of languages.
        target_precision: what share of accepted dev rows must be good, with 95 % confidence.
        options: how to fit; the step's own by default.
        seed: fixes the folds.
        on_progress: called with what comes next.

    Raises:
        LeakError: train or dev hold rows of the test split.
        LabelError: a split has too few good or bad rows.
        PromiseError: the dev rows do not support the precision.
    """
    fitting = FITTED[step]
    options = options or fitting.options
    told: Callable[[str], object] = on_progress or str
    refuse_test_rows([*splits["train"], *splits["dev"]])
    for name, found_labels in splits.items():
        good = sum(label.good for label in found_labels)
        if min(good, len(found_labels) - good) < FEWEST_ROWS:
            raise LabelError(
                f"the labels of {step} hold {good} good and {len(found_labels) - good} bad rows in the split {name}; "
                f"it takes {FEWEST_ROWS} of each."
            )
    told(f"Reading the evidence of {sum(map(len, splits.values()))} labelled rows")
    rows = {name: rows_of(step, found, encoder, languages) for name, found in splits.items()}
    heads: dict[str, LinearHead] = {}
    for output in fitting.outputs:
        told(f"Fitting {output}")
        faults = fitting.faults.get(output, ())
        kept = [n for n, label in enumerate(splits["train"]) if not faults or label.reason in ("ok", *faults)]
        true = [splits["train"][place].good for place in kept]
        if len(true) - sum(true) < FEWEST_ROWS:
            continue  # too few rows have these faults; the output stays as it is set by hand
        heads[output] = fit_head(rows["train"].at(np.array(kept)), true, options, seed)
    found: dict[Split, list[float]] = {name: probabilities(heads[OVERALL], rows[name]) for name in SPLITS}
    curve = precision_curve([label.good for label in splits["dev"]], found["dev"])
    chosen = lowest_threshold(curve, target_precision)
    measures = {str(name): measure(splits[name], found[name], chosen.threshold) for name in found}
    by_id: dict[Split, dict[str, float]] = {
        name: {label.id: value for label, value in zip(splits[name], found[name], strict=True)} for name in found
    }
    return FittedCritic(CriticHeads(step=step, heads=heads), chosen, thinned(curve, chosen), measures, by_id)


def measure(labels: Sequence[Label], probability: Sequence[float], threshold: float) -> dict[str, Interval]:
    """Return what a critic does on labelled rows at a threshold; see :class:`FittedCritic`."""
    good = [label.good for label in labels]
    passed = [value >= threshold for value in probability]
    figures = {
        "auc": bootstrap(area_under_roc, good, probability),
        "average_precision": bootstrap(average_precision, good, probability),
        "precision": share(sum(g for g, p in zip(good, passed, strict=True) if p), sum(passed)),
    }
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
    predict.fields = {OVERALL: {"threshold": threshold}}
    state: dict[str, Any] = predict.dump_state()
    return state


def rows_of(step: str, labels: Sequence[Label], encoder: Encoder, languages: Languages) -> Rows:
    """Return labels of chunks or questions as rows that a head is fitted to."""
    evidence, inputs = HEAD_EVIDENCE[step], [label.inputs for label in labels]
    texts = [row[evidence.subject] for row in inputs]
    documents = [label.document for label in labels]
    return Rows(evidence.features(inputs, encoder, languages), encoder.encode(texts), texts, documents)
