"""What a critic is, and what it embeds texts with."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Inputs = Mapping[str, str]


class Critic(Protocol):
    """Answers the decision requests of one step; DSPy asks it in the place of a language model."""

    @property
    def supports_decision_requests(self) -> bool:
        """Say that it is one."""
        ...

    def embed_ahead(self, rows: Sequence[Inputs]) -> None:
        """Embed together what decisions about these inputs will need one by one."""
        ...

    def __call__(self, state: Mapping[str, Any], questions: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Return for each question ``{"noul": p}``, or ``probabilities`` and ``confidence`` of its levels."""
        ...

    async def acall(self, state: Mapping[str, Any], questions: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Return the same, asynchronously."""
        ...


class Encoder(Protocol):
    """Turns texts into vectors of length one."""

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return one row for each text."""
        ...

    def encode_corpus(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return the same for many texts, worked out on all cores, which nothing else may need meanwhile."""
        ...
