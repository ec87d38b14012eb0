"""Linear heads: logistic regressions on named features."""

from collections.abc import Mapping
from typing import Self

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, field_serializer, model_validator

from programs.features import grams, shape
from programs.numbers import Deviation, Mean, Weight, logistic

VECTOR = "embedding"


class LinearHead(BaseModel):
    """A logistic regression.

    Attributes:
        weights: weight, mean and standard deviation of each numeric feature, by name.
        embedding: weights of the text's vector; their product is the feature ``embedding``. Empty if it is not used.
        vocabulary: the words that shapes keep.
        grams: the weight of each n-gram of the text's shape.
        bias: the log-odds if all features have their mean.
    """

    model_config = ConfigDict(frozen=True)

    weights: dict[str, tuple[Weight, Mean, Deviation]]
    bias: Weight
    embedding: tuple[Weight, ...] = ()
    vocabulary: frozenset[str] = frozenset()
    grams: dict[str, Weight] = {}

    @model_validator(mode="after")
    def _weighs_its_vector(self) -> Self:
        if bool(self.embedding) != (VECTOR in self.weights):
            raise ValueError(f"embedding weights need a feature {VECTOR}, and vice versa")
        return self

    @field_serializer("vocabulary")
    def _in_order(self, vocabulary: frozenset[str]) -> list[str]:
        return sorted(vocabulary)

    def probability(
        self, features: Mapping[str, float], *, vector: npt.NDArray[np.float32] | None = None, text: str = ""
    ) -> float:
        """Return the probability that the statement is true.

        Args:
            features: the numeric features, at least those with a weight.
            vector: the text's embedding, if the head uses it.
            text: the text, if the head uses its shape.

        Raises:
            CriticError: a feature is NaN.
        """
        known = dict(features)
        if self.embedding:
            if vector is None:
                raise ValueError("this head needs the text's embedding")
            known[VECTOR] = float(np.dot(np.asarray(self.embedding, dtype=float), vector))
        odds = self.bias
        for name, (weight, mean, deviation) in self.weights.items():
            odds += weight * (known[name] - mean) / deviation
        if self.grams:
            odds += sum(self.grams.get(gram, 0.0) for gram in grams(shape(text, self.vocabulary)))
        return logistic(odds)
