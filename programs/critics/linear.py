"""A linear head: named evidence in, the probability of one statement out."""

from collections.abc import Mapping
from typing import Self

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, field_serializer, model_validator

from programs.features import grams, shape
from programs.numbers import Deviation, Mean, Weight, logistic

VECTOR = "embedding"


class LinearHead(BaseModel):
    """A logistic regression, stored as numbers.

    Attributes:
        weights: weight, mean and standard deviation of each numeric feature, by name.
        embedding: weights over the text's vector, whose product is one more numeric feature, ``embedding``; empty
            if the head does without.
        vocabulary: the words that the shape of the text keeps.
        grams: weight of each run of a shape that occurs.
        bias: the log-odds of a text whose evidence is all average.
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
            raise ValueError(f"weights of vectors come with a weight called {VECTOR}, and only then")
        return self

    @field_serializer("vocabulary")
    def _in_order(self, vocabulary: frozenset[str]) -> list[str]:
        return sorted(vocabulary)

    def probability(
        self, features: Mapping[str, float], *, vector: npt.NDArray[np.float32] | None = None, text: str = ""
    ) -> float:
        """Return the probability that the statement is true.

        Args:
            features: the numeric features, at least those that have a weight.
            vector: the text's embedding, where the head uses one.
            text: the text whose shape counts, where the head knows shapes.

        Raises:
            CriticError: a feature is no number.
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
