"""The critic ``head``: decisions by linear models on features and embeddings, fitted to labels or set by hand."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import dspy
from pydantic import BaseModel, ConfigDict, model_validator

from programs.critics.base import Encoder, Inputs
from programs.critics.head_features import HEAD_FEATURES, feature_names
from programs.critics.linear import VECTOR, LinearHead
from programs.languages.table import Languages
from programs.steps import STEPS


class CriticHeads(BaseModel):
    """The fitted heads of a step, one for each yes/no output."""

    model_config = ConfigDict(frozen=True)

    step: str
    heads: dict[str, LinearHead]

    @model_validator(mode="after")
    def _one_dimension(self) -> Self:
        if len({len(head.embedding) for head in self.heads.values() if head.embedding}) > 1:
            raise ValueError("its heads have weights for vectors of different lengths")
        return self

    def validation_error(self, signature: type[dspy.Signature]) -> str:
        """Return why the heads do not fit a signature; empty if they do."""
        if unknown := sorted(self.heads.keys() - signature.output_fields.keys()):
            return f"the step {self.step} has no output {unknown[0]}"
        known = {*feature_names(self.step), VECTOR}
        for name, head in self.heads.items():
            if unknown := sorted(head.weights.keys() - known):
                return f"{name}: the step {self.step} has no feature {unknown[0]}"
        return ""

    @property
    def dimension(self) -> int | None:
        """Return the dimension of the embeddings, None if the heads use none."""
        return max((len(head.embedding) for head in self.heads.values()), default=0) or None

    def decide(self, inputs: Inputs, encoder: Encoder, languages: Languages) -> dict[str, float]:
        """Return the probability of each output for one row of inputs."""
        row = HEAD_FEATURES[self.step]
        text, (features,) = inputs[row.subject], row.features([inputs], encoder, languages)
        vector = encoder.encode([text])[0] if any(head.embedding for head in self.heads.values()) else None
        return {name: head.probability(features, vector=vector, text=text) for name, head in self.heads.items()}


class HeadCritic:
    """Answers the decision requests of one step in milliseconds, deterministically.

    Outputs without a fitted head use weights set by hand: they rank candidates and refuse clearly bad ones, but their
    probabilities are not calibrated. No head was fitted to scores, so these are marked as ``unjudged``.
    """

    supports_decision_requests = True

    def __init__(self, step: str, encoder: Encoder, languages: Languages, heads: CriticHeads | None = None) -> None:
        """Build the critic of a step from its fitted heads and an encoder, preferably with a cache."""
        self.step = step
        self._encoder = encoder
        self._languages = languages
        self._heads = heads

    def embed_ahead(self, rows: Sequence[Inputs]) -> None:
        """Embed in one batch, on all cores, the texts needed for decisions about these inputs."""
        row = HEAD_FEATURES.get(self.step)
        texts = [text for inputs in rows for text in row.texts(inputs, self._languages)] if row else []
        if texts:
            self._encoder.encode_corpus(texts)

    def __call__(self, state: Mapping[str, Any], questions: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Return evidence for each question.

        Raises:
            KeyError: a question is not an output of the step.
        """
        inputs = state["inputs"]
        known = self._heads.decide(inputs, self._encoder, self._languages) if self._heads else {}
        if not questions.keys() <= known.keys():
            by_hand = STEPS[self.step].hand_set
            known = (by_hand(inputs, self._similarity, self._languages) if by_hand else {}) | known
        return {
            name: {"noul": known[name]}
            if question["type"] == "noul"
            else _levels(known[name], len(question["criteria"]))
            for name, question in questions.items()
        }

    async def acall(self, state: Mapping[str, Any], questions: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Return evidence for each question."""
        return self(state, questions)

    def _similarity(self, first: str, second: str) -> float:
        left, right = self._encoder.encode([first, second])
        return float(left @ right)


def _levels(share: float, count: int) -> dict[str, Any]:
    """Distribute a value between 0 and 1 over the two nearest of some ordered levels."""
    level = share * (count - 1)
    below = min(int(level), count - 2)
    upper = level - below
    probabilities = {str(n): 0.0 for n in range(count)}
    probabilities[str(below)], probabilities[str(below + 1)] = 1 - upper, upper
    return {"probabilities": probabilities, "confidence": abs(2 * upper - 1), "unjudged": True}
