"""Steps: named signatures with settings of their calls."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import dspy

from programs.languages.table import Languages

Similarity = Callable[[str, str], float]
HandSet = Callable[[Mapping[str, str], Similarity, Languages], dict[str, float]]


@dataclass(frozen=True)
class Step:
    """One row of the table of steps.

    Attributes:
        name: its name on the command line, in records and files.
        signature: its signature.
        decides: whether a critic serves it; else the generator does.
        finetuned: whether only fine-tuned weights can serve it; without them it is skipped.
        gives_reasons: whether only the critic ``verdict`` can serve it, because the step uses its reasons; without one
            it is skipped.
        limits: settings of each call: ``max_tokens``, ``stop``, ``temperature``.
        hand_set: decides with weights set by hand, if there is no fitted head; returns the probability of each output.
        strict: faults that are easily missed, by output: an addition to the prompt of the critic ``verdict``. Not part
            of the signature, because compiled states apply only to its exact text.
    """

    name: str
    signature: type[dspy.Signature]
    decides: bool = False
    finetuned: bool = False
    gives_reasons: bool = False
    limits: Mapping[str, Any] = field(default_factory=dict)
    hand_set: HandSet | None = None
    strict: Mapping[str, str] = field(default_factory=dict)

    @property
    def any_critic(self) -> bool:
        """Return whether every critic can decide it."""
        return self.decides and not (self.finetuned or self.gives_reasons)

    def predictor(self, demos: Sequence[Any] = ()) -> dspy.Predict:
        """Return a new predictor with these demos."""
        predict = dspy.Predict(self.signature, **self.limits)
        predict.demos = list(demos)
        return predict
