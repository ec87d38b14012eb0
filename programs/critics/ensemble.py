"""The critic ``ensemble``: the head, combined with a language model where the head does not refuse."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict

from programs.critics.base import Critic, Inputs
from programs.deciding import OVERALL
from programs.numbers import Share, Weight, logistic

_MIN = 1e-4  # smallest distance of a probability from 0 and 1


class Blend(BaseModel):
    """A logistic regression over the log-odds of a head and of a language model.

    Attributes:
        asked: the output that the model decides.
        floor: below this probability of the head, the head decides alone.
        intercept, head, model: the weights.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    asked: str
    floor: Share
    intercept: Weight
    head: Weight
    model: Weight

    def probability(self, head: float, model: float) -> float:
        """Return the probability of good."""
        return logistic(self.intercept + self.head * log_odds(head) + self.model * log_odds(model))


def log_odds(probability: float) -> float:
    """Return the log-odds of a probability, bounded away from 0 and 1."""
    bounded = min(max(probability, _MIN), 1 - _MIN)
    return float(np.log(bounded / (1 - bounded)))


class EnsembleCritic:
    """Answers the decision requests of one step with its head, and with the language model if the head accepts."""

    supports_decision_requests = True

    def __init__(self, head: Critic, model: Critic, blend: Blend) -> None:
        """Build the critic from the head of a step, a critic with a language model, and their blend."""
        self._head, self._model, self._blend = head, model, blend

    def embed_ahead(self, rows: Sequence[Inputs]) -> None:
        """Embed in one batch the texts needed for decisions about these inputs."""
        self._head.embed_ahead(rows)

    def __call__(self, state: Mapping[str, Any], questions: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Return evidence for each question."""
        evidence, blend = self._head(state, questions), self._blend
        if evidence[OVERALL]["noul"] < blend.floor:
            return evidence
        by_model = self._model(state, {blend.asked: questions[blend.asked]})[blend.asked]
        combined = blend.probability(evidence[OVERALL]["noul"], by_model["noul"])
        return {**evidence, blend.asked: by_model, OVERALL: {"noul": combined}}

    async def acall(self, state: Mapping[str, Any], questions: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Return evidence for each question."""
        return self(state, questions)
