"""The ``ensemble`` critic: the head, and the language model where the head does not refuse."""

from collections.abc import Mapping, Sequence
from typing import Any

from groundset.critics.head import HeadCritic
from optimizers.ensemble import Blend
from programs.deciding import OVERALL


class EnsembleCritic:
    """Answer decision requests with the head; ask the model one thing more where a blend of both was fitted."""

    supports_decision_requests = True
    name = "ensemble"

    def __init__(self, head: HeadCritic, model: Any, blends: Mapping[str, Blend]) -> None:
        """Make a critic of a head, a critic that asks a language model, and the blends by step."""
        self._head, self._model, self._blends = head, model, dict(blends)

    @property
    def compiled(self) -> str:
        """Return the steps that were fitted, and those in which the model has a say."""
        return f"{self._head.compiled}; with the language model: {', '.join(sorted(self._blends))}"

    def embed_ahead(self, rows: Sequence[Mapping[str, str]]) -> None:
        """Embed together what decisions about these inputs will need one by one."""
        self._head.embed_ahead(rows)

    def __call__(self, state: Mapping[str, Any], questions: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Return evidence for each question."""
        evidence = self._head(state, questions)
        blend = self._blends.get(self._head.step_of(state["inputs"]))
        if blend is None or evidence[OVERALL]["noul"] < blend.floor:
            return evidence
        said = self._model(state, {blend.asked: questions[blend.asked]})[blend.asked]
        both = blend.probability(evidence[OVERALL]["noul"], said["noul"])
        return {**evidence, blend.asked: said, OVERALL: {"noul": both}}

    async def acall(self, state: Mapping[str, Any], questions: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Return evidence for each question."""
        return self(state, questions)
