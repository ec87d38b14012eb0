"""The critic ``head``: decisions from named evidence and vectors, fitted to labels or set by hand."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import dspy
from pydantic import BaseModel, ConfigDict, model_validator

from programs.critics.base import Encoder, Inputs
from programs.critics.head_features import HEAD_EVIDENCE, feature_names
from programs.critics.linear import VECTOR, LinearHead
from programs.languages.table import Languages
from programs.steps import STEPS


class CriticHeads(BaseModel):
    """One fitted head for each yes/no output of a step, ``fit`` among them."""

    model_config = ConfigDict(frozen=True)

    step: str
    heads: dict[str, LinearHead]

    @model_validator(mode="after")
    def _one_dimension(self) -> Self:
        if len({len(head.embedding) for head in self.heads.values() if head.embedding}) > 1:
            raise ValueError("its heads weigh vectors of different lengths")
        return self

    def fault(self, signature: type[dspy.Signature]) -> str:
        """Return what keeps the heads from deciding for a signature; nothing if they can."""
        if unknown := sorted(self.heads.keys() - signature.output_fields.keys()):
            return f"the step {self.step} has no output {unknown[0]}"
        known = {*feature_names(self.step), VECTOR}
        for name, head in self.heads.items():
            if unknown := sorted(head.weights.keys() - known):
                return f"{name} weighs {unknown[0]}, which no evidence of the step {self.step} is called"
        return ""

    @property
    def dimension(self) -> int | None:
        """Return the length of the vectors that the heads weigh, None if they weigh none."""
        return max((len(head.embedding) for head in self.heads.values()), default=0) or None

    def decide(self, inputs: Inputs, encoder: Encoder, languages: Languages) -> dict[str, float]:
        """Return the probability of each output for one row of inputs."""
        evidence = HEAD_EVIDENCE[self.step]
        text, (features,) = inputs[evidence.subject], evidence.features([inputs], encoder, languages)
        vector = encoder.encode([text])[0] if any(head.embedding for head in self.heads.values()) else None
        return {name: head.probability(features, vector=vector, text=text) for name, head in self.heads.items()}


class HeadCritic:
    """Answer the decision requests of one step in milliseconds, the same way every time.

    Where heads were fitted they answer. What else is asked is set by hand: it orders candidates and refuses the
    plainly bad, and its probabilities are not calibrated. Nothing was ever fitted to scores, so they are marked as
    ``unjudged``.
    """

    supports_decision_requests = True

    def __init__(self, step: str, encoder: Encoder, languages: Languages, heads: CriticHeads | None = None) -> None:
        """Build the critic of a step from its fitted heads and an encoder, best one with a cache."""
        self.step = step
        self._encoder = encoder
        self._languages = languages
        self._heads = heads

    def embed_ahead(self, rows: Sequence[Inputs]) -> None:
        """Embed in one batch, on all cores, the texts that decisions about these inputs will need."""
        evidence = HEAD_EVIDENCE.get(self.step)
        texts = [text for inputs in rows for text in evidence.texts(inputs, self._languages)] if evidence else []
        if texts:
            self._encoder.encode_corpus(texts)

    def __call__(self, state: Mapping[str, Any], questions: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Return evidence for each question: ``{"noul": p}``, or probabilities of the levels of a score.

        Raises:
            KeyError: a question is none that the step's signature asks.
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
    """Spread a value between 0 and 1 over ordered levels, the two nearest ones sharing the mass."""
    place = share * (count - 1)
    below = min(int(place), count - 2)
    upper = place - below
    probabilities = {str(level): 0.0 for level in range(count)}
    probabilities[str(below)], probabilities[str(below + 1)] = 1 - upper, upper
    return {"probabilities": probabilities, "confidence": abs(2 * upper - 1), "unjudged": True}
