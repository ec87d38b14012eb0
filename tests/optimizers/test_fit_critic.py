"""Fitting heads and choosing thresholds."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from optimizers.fit_critic import fit_critic, measure
from optimizers.labels import ChunkLabel, QuestionLabel, Split, splits_of
from optimizers.logistic import FitOptions, Rows, fit_head, held_out_probabilities, probabilities
from programs.critics.linear import LinearHead
from programs.errors import LabelError, LeakError, TargetPrecisionError
from programs.languages import LANGUAGES
from programs.languages.table import Languages

KNOWN = Languages(LANGUAGES)


@pytest.fixture
def encoder(word_encoder: Callable[[str], Any]) -> Any:
    return word_encoder("")


def rows(encoder: Any, count: int = 80) -> tuple[Rows, list[bool]]:
    random = np.random.default_rng(0)
    true = [bool(n % 2) for n in range(count)]
    features = [{"signal": float(t) + random.normal(0, 0.7), "noise": random.normal()} for t in true]
    texts = [("It did this." if not t else "The mill of Orsle burned.") for t in true]
    return Rows(features, encoder.encode(texts), texts, [f"d{n // 4}" for n in range(count)]), true


def test_head_separates_rows_deterministically(encoder: Any) -> None:
    train, true = rows(encoder)
    options = FitOptions(strength=1.0, embedding=False, shapes=0)
    head = fit_head(train, true, options)
    assert abs(head.weights["signal"][0]) > 4 * abs(head.weights["noise"][0])
    assert head == fit_head(train, true, options)
    again = LinearHead.model_validate_json(head.model_dump_json())
    assert probabilities(again, train) == probabilities(head, train)
    for options in (FitOptions(0.1, False, 5), FitOptions(0.1, True, 0)):
        found = held_out_probabilities(train, true, options)
        assert np.mean([p > 0.5 for p in found] == np.array(true)) > 0.95


def label(number: int, good: bool, split: Split) -> ChunkLabel:
    text = (
        f"The tide mill of Orsle number {number} was built in 17{number % 90 + 10} by Maria Kolb for the town."
        if good
        else f"{number}. Kolb, M. (19{number % 90 + 10}). Retrieved from https://example.org/{number} doi:10.1/x"
    )
    return ChunkLabel(
        id=f"c{number}",
        document=f"d-{split}-{number // 4}",
        text=text,
        label="good" if good else "bad",
        reason="ok" if good else "citation",
        split=split,
    )


def labels() -> list[ChunkLabel]:
    names: list[Split] = ["train"] * 60 + ["dev"] * 40 + ["test"] * 20
    found = [label(n, bool(n % 2), split) for n, split in enumerate(names)]
    dependent = [
        label(n, False, "train").model_copy(update={"reason": "not_self_contained", "text": f"It was {n}, they said."})
        for n in range(500, 512)
    ]
    return [*found, *dependent]


def test_fit_critic_outputs_curve_and_test_measures(encoder: Any) -> None:
    fitted = fit_critic("chunk", splits_of(labels()), encoder, KNOWN, target_precision=0.8)
    assert set(fitted.heads.heads) == {"fit", "content", "self_contained"}
    test = fitted.verdicts.measures["test"]
    assert test["auc"].value > 0.95
    assert test["passed_citation"].value < 0.2
    assert len(fitted.verdicts.probabilities["test"]) == sum(label.split == "test" for label in labels())
    assert [point.threshold for point in fitted.curve] == sorted(point.threshold for point in fitted.curve)
    some = splits_of(label for label in labels() if label.reason != "not_self_contained")
    found = fit_critic("chunk", some, encoder, KNOWN, target_precision=0.8).heads.heads
    assert set(found) == {"fit", "content"}, "no row has faults of self_contained"


def question(number: int, good: bool, split: Split, kind: str | None) -> QuestionLabel:
    text = f"In which year was mill {number} of Orsle built?" if good else f"When did it do this in {number}?"
    return QuestionLabel(
        id=f"q{number}",
        document=f"d-{split}-{number // 4}",
        passage=f"Mill {number} of Orsle was built in 1781 by Maria Kolb.",
        question=text,
        label="good" if good else "bad",
        reason="ok" if good else "context_reference",
        split=split,
        kind=kind,
    )


def test_threshold_is_chosen_on_generated_questions(encoder: Any) -> None:
    names: list[Split] = ["train"] * 80 + ["dev"] * 24 + ["test"] * 24
    kinds = [None if n % 3 == 0 else "time" if n % 3 == 1 else "place" for n in range(len(names))]
    found = [question(n, bool(n % 2), split, kinds[n]) for n, split in enumerate(names)]
    fitted = fit_critic("judge", splits_of(found), encoder, KNOWN, target_precision=0.8)
    generated = [label for label in found if label.kind and label.split != "test"]
    assert fitted.curve[0].accepted == len(generated)
    assert set(fitted.kinds) == {"place", "time"}
    assert sum(point.accepted for point in fitted.kinds.values()) == fitted.chosen.accepted < len(generated)
    assert sum(point.good for point in fitted.kinds.values()) == fitted.chosen.good
    assert fitted.verdicts.measures["test"]["precision_of_runs"].value == 1.0
    few = [label.model_copy(update={"kind": None}) if label.split == "train" else label for label in found]
    on_dev = fit_critic("judge", splits_of(few), encoder, KNOWN, target_precision=0.8)
    assert on_dev.curve[0].accepted == sum(label.split == "dev" for label in found)
    assert on_dev.kinds == {}


def test_unusable_labels_are_rejected(encoder: Any) -> None:
    splits = splits_of(labels())
    leaked = {**splits, "train": splits["train"] + splits["test"]}
    good = {**splits, "dev": [found for found in splits["dev"] if found.good]}
    for rows, target, error, match in (
        (leaked, 0.5, LeakError, "test"),
        (good, 0.5, LabelError, "dev"),
        (splits, 0.999, TargetPrecisionError, "--target-precision"),
    ):
        with pytest.raises(error, match=match):
            fit_critic("chunk", rows, encoder, KNOWN, target_precision=target)


def test_measure_counts_accepted_rows_by_reason() -> None:
    found = [label(1, True, "dev"), label(2, False, "dev"), label(3, True, "dev"), label(4, False, "dev")]
    figures = measure(found, [0.9, 0.8, 0.4, 0.1], 0.5)
    assert figures["auc"].value == 0.75
    assert figures["passed_ok"].value == 0.5
    assert figures["passed_citation"].value == 0.5
    assert figures["precision"].value == 0.5
