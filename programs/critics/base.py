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
        """Return True: the critic takes decision requests."""
        ...

    def embed_ahead(self, rows: Sequence[Inputs]) -> None:
        """Embed in one batch the texts that decisions about these inputs will need."""
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
        """Return one row for each of many texts, embedded on all cores; nothing else may run meanwhile."""
        ...
