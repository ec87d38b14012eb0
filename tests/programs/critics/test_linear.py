"""Linear heads: what they compute."""

import math

import numpy as np
import pytest

from programs.critics.linear import LinearHead
from programs.features import grams, shape


def test_head_sums_standardised_features_grams_and_embedding() -> None:
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


def test_shape_keeps_vocabulary_and_classes_other_words() -> None:
    found = shape("When was the Henn Lady repaired in 2009?", {"when", "was", "the", "in"})
    assert found == ["<start>", "when", "was", "the", "<name>", "<word ed>", "in", "<number>", "?", "<end>"]
    assert set(grams(["a", "b", "a", "b"], longest=2)) == {"a", "b", "a b", "b a"}
