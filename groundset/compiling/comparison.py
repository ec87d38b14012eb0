"""What a critic does on labelled rows before a compile and after it."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from optimizers.fit_critic import measure
from optimizers.labels import Label, Split
from optimizers.measures import Interval, mean, mean_gain
from optimizers.steps.worth import decision_value
from programs.deciding import OVERALL


class Verdicts(NamedTuple):
    """The probabilities of labelled rows by split, the threshold, and what :func:`measure` says of both by split."""

    probabilities: Mapping[Split, Sequence[float]]
    threshold: float
    measures: Mapping[str, Mapping[str, Interval]]


def verdicts(
    splits: Mapping[Split, Sequence[Label]], probabilities: Mapping[Split, Sequence[float]], threshold: float
) -> Verdicts:
    """Measure what a critic says of labelled rows."""
    measures = {str(split): measure(splits[split], found, threshold) for split, found in probabilities.items()}
    return Verdicts(probabilities, threshold, measures)


def compare(
    splits: Mapping[Split, Sequence[Label]], before: Verdicts, after: Verdicts
) -> tuple[dict[str, dict[str, Interval]], list[dict[str, Any]]]:
    """Return the measures and the rows of a report; see :class:`optimizers.report.CompileReport`."""
    measures: dict[str, dict[str, Interval]] = {"before": {}, "after": {}, "gain": {}}
    rows: list[dict[str, Any]] = []
    for split in before.probabilities:
        scores: dict[str, list[float]] = {}
        documents = [label.document for label in splits[split]]
        for version, said in (("before", before), ("after", after)):
            found = zip(splits[split], said.probabilities[split], strict=True)
            scores[version] = [decision_value(label.good, p >= said.threshold, p) for label, p in found]
            measures[version][split] = mean(scores[version], documents)
            measures[version] |= {f"{split}_{name}": figure for name, figure in said.measures[split].items()}
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
