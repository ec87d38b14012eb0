"""What training an adapter is given, and what comes of it."""

from collections.abc import Sequence
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, Field


class Turn(NamedTuple):
    """One row to learn from: the chat that the model is shown, and the completion that it should write."""

    messages: Sequence[dict[str, str]]
    completion: str
    language: str = ""
    document: str = ""
    name: str = ""


class TrainingOptions(BaseModel):
    """How an adapter is trained.

    The defaults were measured on two cores with a model of half a billion weights: the upper two thirds of the layers
    learn, which leaves a third of the backward pass out; texts padded to multiples of 32 tokens keep memory flat.

    Attributes:
        rank: of the two factors of each weight matrix's change.
        alpha: scales the change, by alpha / rank.
        layers: the upper share of the layers that learns.
        rate: the highest learning rate; it rises over the first twentieth of the steps and falls like a cosine.
        epochs: how often each row is seen.
        batch: rows in one step.
        rows: how many rows of each step are learned from, drawn by the seed; all of them if it is not set.
        seed: fixes the first weights, which rows are drawn, and their order.
    """

    model_config = ConfigDict(frozen=True)

    rank: int = Field(default=12, ge=1)
    alpha: int = Field(default=24, ge=1)
    layers: float = Field(default=2 / 3, gt=0, le=1)
    rate: float = Field(default=3e-4, gt=0)
    epochs: int = Field(default=1, ge=1)
    batch: int = Field(default=16, ge=1)
    rows: int | None = Field(default=None, ge=1)
    seed: int = 0


class TrainingStep(NamedTuple):
    """How far training is, with the mean loss of a target token, in nats, of the latest step; ``dev`` after epochs."""

    step: int
    steps: int
    loss: float
    dev: float | None = None
