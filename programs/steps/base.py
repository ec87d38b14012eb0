"""What a step is: a named signature with the limits of its completions."""

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
        name: what the command line, records and files call it.
        signature: what it asks.
        decides: whether a critic serves it; else the generator does.
        taught: whether only trained weights can serve it; without them it is not asked.
        limits: settings of each call: ``max_tokens``, ``stop``, ``temperature``.
        hand_set: decides by weights set by hand where no head was fitted: makes of inputs, the similarity of two texts
            and the known languages the probability of each output.
        strict: what the critic ``verdict`` is told beside the signature, by output: the faults that are easily missed.
    """

    name: str
    signature: type[dspy.Signature]
    decides: bool = False
    taught: bool = False
    limits: Mapping[str, Any] = field(default_factory=dict)
    hand_set: HandSet | None = None
    strict: Mapping[str, str] = field(default_factory=dict)

    def predictor(self, demos: Sequence[Any] = ()) -> dspy.Predict:
        """Return a fresh bare predictor that shows these demos."""
        predict = dspy.Predict(self.signature, **self.limits)
        predict.demos = list(demos)
        return predict
