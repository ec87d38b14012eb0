"""A linear head: named evidence in, the probability of one statement out."""

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, field_serializer

from programs.evidence import grams, shape


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

    weights: dict[str, tuple[float, float, float]]
    bias: float
    embedding: tuple[float, ...] = ()
    vocabulary: frozenset[str] = frozenset()
    grams: dict[str, float] = {}

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
        """
        known = dict(features)
        if self.embedding:
            if vector is None:
                raise ValueError("this head needs the text's embedding")
            known["embedding"] = float(np.dot(np.asarray(self.embedding, dtype=float), vector))
        odds = self.bias
        for name, (weight, mean, deviation) in self.weights.items():
            odds += weight * (known[name] - mean) / deviation
        if self.grams:
            odds += sum(self.grams.get(gram, 0.0) for gram in grams(shape(text, self.vocabulary)))
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, odds))))
