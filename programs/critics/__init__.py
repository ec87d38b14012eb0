"""Critics: they return a probability for each yes/no output of a step. The ``optimizers`` fit them."""

from programs.critics.base import Critic, Encoder
from programs.critics.registry import CRITICS, EMBEDDING, MODEL_FREE, SCORING, check_critic, open_critics, open_panel

__all__ = [
    "CRITICS",
    "EMBEDDING",
    "MODEL_FREE",
    "SCORING",
    "Critic",
    "Encoder",
    "check_critic",
    "open_critics",
    "open_panel",
]
