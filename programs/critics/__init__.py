"""What decides: a probability for each yes/no that a step asks. Inference only; fitting is the optimizers' business."""

from programs.critics.base import Critic, Encoder
from programs.critics.opening import CRITICS, MODEL_FREE, open_critics

__all__ = ["CRITICS", "MODEL_FREE", "Critic", "Encoder", "open_critics"]
