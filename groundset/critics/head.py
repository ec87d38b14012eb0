"""The ``head`` critic: decisions from surface features and embeddings, fitted to labels or set by hand."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from groundset.critics.hand_set import HAND_SET
from optimizers.heads import CriticHeads, Encoder, texts_to_embed

_STEPS = {
    frozenset({"topic", "passage"}): "chunk",
    frozenset({"passage", "question"}): "judge",
    frozenset({"first", "second"}): "same",
    frozenset({"passage", "question", "answer"}): "grounding",
}
_KEPT_VECTORS = 16_384  # 25 MB


class HeadCritic:
    """Answer decision requests in milliseconds, the same way every time.

    A step whose heads were fitted answers with them. Any other is set by hand: it orders candidates and refuses
    the plainly bad, and its probabilities are not calibrated.
    """

    supports_decision_requests = True
    name = "head"

    def __init__(self, encoder: Encoder, heads: Mapping[str, CriticHeads] | None = None) -> None:
        """Make a critic of an encoder and the fitted heads by step."""
        self._encoder = _Remembering(encoder)
        self._heads = dict(heads or {})

    @property
    def compiled(self) -> str:
        """Return the steps that were fitted, or ``uncompiled``."""
        return ", ".join(sorted(self._heads)) or "uncompiled"

    def embed_ahead(self, rows: Sequence[Mapping[str, str]]) -> None:
        """Embed together what decisions about these inputs will need one by one."""
        texts = [text for inputs in rows for text in texts_to_embed(inputs)]
        if texts:
            self._encoder.encode(texts)

    def __call__(self, state: Mapping[str, Any], questions: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Return evidence for each question: ``{"noul": p}``, or probabilities of the levels of a score.

        Raises:
            KeyError: if a question is none of those that groundset's signatures ask.
        """
        inputs = state["inputs"]
        step = self.step_of(inputs)
        known = self._heads[step].decide(inputs, self._encoder) if step in self._heads else {}
        if not questions.keys() <= known.keys():
            known = HAND_SET[step](inputs, self._similarity) | known
        return {
            name: {"noul": known[name]}
            if question["type"] == "noul"
            else _levels(known[name], len(question["criteria"]))
            for name, question in questions.items()
        }

    @staticmethod
    def step_of(inputs: Mapping[str, str]) -> str:
        """Return the step that decides about these inputs."""
        return _STEPS[frozenset(inputs)]

    async def acall(self, state: Mapping[str, Any], questions: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Return evidence for each question."""
        return self(state, questions)

    def _similarity(self, first: str, second: str) -> float:
        left, right = self._encoder.encode([first, second])
        return float(left @ right)


class _Remembering:
    """Keeps the latest vectors, because several decisions look at the same passage and its sentences."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._known: dict[str, npt.NDArray[np.float32]] = {}

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return one row for each text."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._known]
        if len(self._known) + len(missing) > _KEPT_VECTORS:
            self._known.clear()
            missing = list(dict.fromkeys(texts))
        if missing:
            self._known.update(zip(missing, self._encoder.encode(missing), strict=True))
        return np.stack([self._known[text] for text in texts])


def _levels(share: float, count: int) -> dict[str, Any]:
    """Spread a value between 0 and 1 over ordered levels, the two nearest ones sharing the mass."""
    place = share * (count - 1)
    below = min(int(place), count - 2)
    upper = place - below
    probabilities = {str(level): 0.0 for level in range(count)}
    probabilities[str(below)], probabilities[str(below + 1)] = 1 - upper, upper
    return {"probabilities": probabilities, "confidence": abs(2 * upper - 1)}
