"""The protocols of critics and of the encoders that they embed texts with."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Inputs = Mapping[str, str]


class Critic(Protocol):
    """Answers the decision requests of one step; DSPy calls it in place of a language model."""

    @property
    def supports_decision_requests(self) -> bool:
        """Return True; DSPy checks it."""
        ...

    def embed_ahead(self, rows: Sequence[Inputs]) -> None:
        """Embed in one batch the texts needed for decisions about these inputs."""
        ...

    def __call__(self, state: Mapping[str, Any], questions: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Return the evidence for each question.

        For a yes/no decision it is ``{"noul": p}`` (``noul`` is DSPy's name for such decisions), with the probability
        of yes; for other questions, the ``probabilities`` of the levels or options and a ``confidence``.
        """
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
        """Return one row for each of many texts, embedded on all cores; nothing else may run at the same time."""
        ...
