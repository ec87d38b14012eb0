"""The critic ``ensemble``: the head, and the language model where the head does not refuse."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict

from programs.critics.base import Critic, Inputs
from programs.deciding import OVERALL
from programs.numbers import Share, Weight, logistic

_SURE = 1e-4  # probabilities nearer to 0 or 1 count as this near


class Blend(BaseModel):
    """How a head and a language model decide together: a logistic regression over the log-odds of both.

    Attributes:
        asked: the output that the model is asked for.
        floor: the probability of the head from which on the model is asked; below, the head decides alone.
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
        odds = self.intercept + self.head * log_odds(head) + self.model * log_odds(model)
        return logistic(odds)


def log_odds(probability: float) -> float:
    """Return the logarithm of the odds of a probability, kept away from 0 and 1."""
    bounded = min(max(probability, _SURE), 1 - _SURE)
    return float(np.log(bounded / (1 - bounded)))


class EnsembleCritic:
    """Answer the decision requests of one step with its head; ask the language model as well if the head accepts."""

    supports_decision_requests = True

    def __init__(self, head: Critic, model: Critic, blend: Blend) -> None:
        """Build the critic from a step's head, a critic that asks a language model, and their blend."""
        self._head, self._model, self._blend = head, model, blend

    def embed_ahead(self, rows: Sequence[Inputs]) -> None:
        """Embed together what decisions about these inputs will need one by one."""
        self._head.embed_ahead(rows)

    def __call__(self, state: Mapping[str, Any], questions: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Return evidence for each question."""
        evidence, blend = self._head(state, questions), self._blend
        if evidence[OVERALL]["noul"] < blend.floor:
            return evidence
        said = self._model(state, {blend.asked: questions[blend.asked]})[blend.asked]
        both = blend.probability(evidence[OVERALL]["noul"], said["noul"])
        return {**evidence, blend.asked: said, OVERALL: {"noul": both}}

    async def acall(self, state: Mapping[str, Any], questions: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Return evidence for each question."""
        return self(state, questions)
