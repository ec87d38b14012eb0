"""Linear heads: what they compute, what they learn, and that no test row teaches them."""

import math
import zlib
from collections.abc import Sequence

import numpy as np
import pytest

from optimizers.fit_critic import fit_critic, measure
from optimizers.heads import LinearHead, Recipe, Rows, fit_head, held_out_probabilities, probabilities
from optimizers.labels import ChunkLabel, Split, split_of, splits_of
from programs.errors import LabelError, LeakError, PromiseError
from programs.evidence import grams, shape


class WordEncoder:
    def encode(self, texts: Sequence[str]) -> np.ndarray:
        rows = np.zeros((len(texts), 64), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.lower().split():
                row[zlib.crc32(word.encode()) % 64] += 1
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_a_head_adds_up_standardised_features_shapes_and_vectors() -> None:
    head = LinearHead(
        weights={"words": (2.0, 10.0, 5.0), "embedding": (1.0, 0.0, 0.5)},
        bias=-1.0,
        embedding=(1.0, 0.0),
        vocabulary=frozenset({"who"}),
        grams={"<start> who": 0.5, "never": 9.0},
    )
    odds = -1.0 + 2.0 * (15 - 10) / 5 + 1.0 * 0.25 / 0.5 + 0.5
    found = head.probability({"words": 15.0}, vector=np.array([0.25, 0.9], dtype=np.float32), text="Who built it?")
    assert found == pytest.approx(1 / (1 + math.exp(-odds)))
    with pytest.raises(ValueError, match="embedding"):
        head.probability({"words": 15.0}, text="Who?")


def test_a_shape_keeps_known_words_and_classes_the_others() -> None:
    found = shape("When was the Henn Lady repaired in 2009?", {"when", "was", "the", "in"})
    assert found == ["<start>", "when", "was", "the", "<name>", "<word ed>", "in", "<number>", "?", "<end>"]
    assert set(grams(["a", "b", "a", "b"], longest=2)) == {"a", "b", "a b", "b a"}


def rows(count: int, seed: int = 0) -> tuple[Rows, list[bool]]:
    random = np.random.default_rng(seed)
    true = [bool(n % 2) for n in range(count)]
    features = [{"signal": float(t) + random.normal(0, 0.7), "noise": random.normal()} for t in true]
    texts = [("It did this." if not t else "The mill of Orsle burned.") for t in true]
    vectors = WordEncoder().encode(texts)
    return Rows(features, vectors, texts, [f"d{n // 4}" for n in range(count)]), true


def test_a_head_learns_what_tells_rows_apart_and_repeats_itself() -> None:
    train, true = rows(80)
    recipe = Recipe(strength=1.0, embedding=False, shapes=0)
    head = fit_head(train, true, recipe)
    assert abs(head.weights["signal"][0]) > 4 * abs(head.weights["noise"][0])
    assert head == fit_head(train, true, recipe)
    again = LinearHead.model_validate_json(head.model_dump_json())
    assert probabilities(again, train) == probabilities(head, train)


def test_shapes_and_vectors_are_learned_too() -> None:
    train, true = rows(80)
    for recipe in (Recipe(0.1, False, 5), Recipe(0.1, True, 0)):
        found = held_out_probabilities(train, true, recipe)
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
    leaning = [
        label(n, False, "train").model_copy(update={"reason": "not_self_contained", "text": f"It was {n}, they said."})
        for n in range(500, 512)
    ]
    return [*found, *leaning]


def test_outputs_whose_faults_no_row_has_stay_set_by_hand() -> None:
    found = [label for label in labels() if label.reason != "not_self_contained"]
    assert set(fit_critic("chunk", splits_of(found), WordEncoder(), target_precision=0.8).heads.heads) == {
        "fit",
        "content",
    }


def test_a_critic_is_fitted_on_train_anchored_on_dev_and_measured_on_test() -> None:
    fitted = fit_critic("chunk", splits_of(labels()), WordEncoder(), target_precision=0.8)
    assert set(fitted.heads.heads) == {"fit", "content", "self_contained"}
    assert fitted.measures["test"]["auc"].value > 0.95
    assert fitted.measures["test"]["passed_citation"].value < 0.2
    assert set(fitted.probabilities["test"]) == {label.id for label in labels() if label.split == "test"}
    assert [point.threshold for point in fitted.curve] == sorted(point.threshold for point in fitted.curve)


def test_no_critic_is_fitted_to_test_rows_or_to_one_kind_of_row() -> None:
    splits = splits_of(labels())
    with pytest.raises(LeakError, match="test split"):
        fit_critic("chunk", {**splits, "train": splits["train"] + splits["test"]}, WordEncoder(), target_precision=0.5)
    good = [found for found in splits["dev"] if found.good]
    with pytest.raises(LabelError, match="split dev"):
        fit_critic("chunk", {**splits, "dev": good}, WordEncoder(), target_precision=0.5)
    with pytest.raises(PromiseError):
        fit_critic("chunk", splits, WordEncoder(), target_precision=0.999)


def test_measures_count_what_passes_by_reason() -> None:
    found = [label(1, True, "dev"), label(2, False, "dev"), label(3, True, "dev"), label(4, False, "dev")]
    figures = measure(found, [0.9, 0.8, 0.4, 0.1], 0.5)
    assert figures["auc"].value == 0.75
    assert figures["passed_ok"].value == 0.5
    assert figures["passed_citation"].value == 0.5
    assert figures["precision"].value == 0.5


def test_documents_without_a_split_have_one_by_their_name() -> None:
    assert split_of("tide-mill") == split_of("tide-mill")
