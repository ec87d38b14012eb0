"""The strategy ``fit-head``: heads fitted to train rows, test rows only reported.

The threshold is chosen on what runs wrote, by heads that did not learn from the same documents, else on dev rows.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import dspy
import numpy as np

from optimizers.fit_head import FitOptions, Rows, fit_head, held_out_probabilities, probabilities
from optimizers.labels import SPLITS, Label, Labelled, QuestionLabel, Split, refuse_test_rows
from optimizers.measures import Interval, area_under_roc, average_precision, bootstrap, share
from optimizers.steps import FITTED
from optimizers.thresholds import lowest_threshold, point_of, precision_curve
from programs.critics.base import Encoder
from programs.critics.curve import CurvePoint
from programs.critics.evidence import HEAD_EVIDENCE
from programs.critics.heads import CriticHeads
from programs.critics.linear import LinearHead
from programs.deciding import overall_of
from programs.errors import LabelError
from programs.languages.table import Languages
from programs.text import beginnings

_CURVE_POINTS = 60
FEWEST_ROWS = 10  # good and bad ones each
_FEWEST_OF_RUNS = 60


class FittedCritic(NamedTuple):
    """Heads with the point of the curve that was chosen, and what they do there on each split.

    ``kinds`` holds what the threshold does by what questions ask for, where the curve is one of questions of runs.
    ``measures`` holds for each split the area under the ROC curve, the average precision, the share of good rows
    that pass and, by reason, the shares of bad ones that pass, and of the questions of runs that pass the share of good
    ones; those of train rows, which were fitted to, flatter.
    ``probabilities`` holds those of the rows by label id.
    """

    heads: CriticHeads
    chosen: CurvePoint
    curve: tuple[CurvePoint, ...]
    kinds: Mapping[str, CurvePoint]
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
    found: dict[Split, list[float]] = {name: probabilities(heads[fitting.overall], rows[name]) for name in SPLITS}
    told(f"Choosing the threshold of {step}")
    of_runs = _of_runs(splits, rows, found, options, seed)
    shown = of_runs or list(zip(splits["dev"], found["dev"], strict=True))
    curve = precision_curve([label.good for label, _ in shown], [probability for _, probability in shown])
    chosen = lowest_threshold(curve, target_precision)
    measures = {str(name): measure(splits[name], found[name], chosen.threshold) for name in found}
    by_id: dict[Split, dict[str, float]] = {
        name: {label.id: value for label, value in zip(splits[name], found[name], strict=True)} for name in found
    }
    kinds = _by_kind(of_runs, chosen.threshold)
    return FittedCritic(CriticHeads(step=step, heads=heads), chosen, thinned(curve, chosen), kinds, measures, by_id)


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
    said = [*zip(splits["train"], held_out, strict=True), *zip(splits["dev"], found["dev"], strict=True)]
    return [(label, probability) for label, probability in said if _kind(label)]


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
    """Return what a critic does on labelled rows at a threshold; see :class:`FittedCritic`."""
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
    predict.fields = {overall_of(signature): {"threshold": threshold}}
    state: dict[str, Any] = predict.dump_state()
    return state


def rows_of(step: str, labels: Sequence[Labelled], encoder: Encoder, languages: Languages) -> Rows:
    """Return labels as rows that a head is fitted to."""
    evidence, inputs = HEAD_EVIDENCE[step], [beginnings(label.inputs) for label in labels]
    texts = [row[evidence.subject] for row in inputs]
    documents = [label.document for label in labels]
    return Rows(evidence.features(inputs, encoder, languages), encoder.encode(texts), texts, documents)
