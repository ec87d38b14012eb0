"""The fitted heads of one critic step, and which labels say what is true for each of its outputs."""

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict

from optimizers.heads.evidence import Encoder, chunk_evidence, question_evidence
from optimizers.heads.linear import LinearHead
from programs.deciding import OVERALL

# For each output, the reasons that make it false; a row with another bad reason says nothing about it.
FAULTS: dict[str, dict[str, tuple[str, ...]]] = {
    "chunk": {
        "content": ("citation", "metadata", "boilerplate", "too_thin"),
        "self_contained": ("not_self_contained",),
    },
    "judge": {
        "independent": ("context_reference", "vague"),
        "clear": ("malformed", "conjoined"),
        "answerable": ("unanswerable", "wrong_premise"),
    },
}


class CriticHeads(BaseModel):
    """One head for each yes/no output of a step, ``fit`` among them."""

    model_config = ConfigDict(frozen=True)

    step: str
    heads: dict[str, LinearHead]

    def decide(self, inputs: Mapping[str, str], encoder: Encoder) -> dict[str, float]:
        """Return the probability of each output for one passage, or one question and its passage."""
        if self.step == "chunk":
            text, (features,) = inputs["passage"], chunk_evidence([inputs["passage"]])
        else:
            text = inputs["question"]
            (features,) = question_evidence([(text, inputs["passage"])], encoder)
        vector = encoder.encode([text])[0] if any(head.embedding for head in self.heads.values()) else None
        return {name: head.probability(features, vector=vector, text=text) for name, head in self.heads.items()}


def outputs_of(step: str) -> tuple[str, ...]:
    """Return the outputs of a step that are fitted."""
    return (OVERALL, *FAULTS[step])
