"""Training data and options of an adapter: gold rows rendered as the chats of a run."""

import random
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import dspy
from pydantic import BaseModel, ConfigDict, Field

from optimizers.gold import GoldRow
from optimizers.labels import Split
from optimizers.steps import COMPILABLE
from programs.critics.logprobs import decision_chat
from programs.deciding import decide
from programs.languages.table import Languages


class Turn(NamedTuple):
    """A training row: the chat and the expected completion."""

    messages: Sequence[dict[str, str]]
    completion: str
    language: str = ""
    document: str = ""
    name: str = ""


class TrainingOptions(BaseModel):
    """The options for training an adapter.

    The defaults were tuned on two cores with a 0.5B model. Training only the upper two thirds of the layers saves a
    third of the backward pass.

    Attributes:
        rank: the rank of the adapter's factors.
        alpha: the scale of the adapter is alpha / rank.
        layers: the share of the layers to train, from the top.
        rate: the highest learning rate, with linear warm-up over 5 % of the steps and cosine decay.
        epochs: passes over the rows.
        batch: rows per step.
        rows: how many random rows of each step to train on, None for all.
        seed: the seed of initial weights, chosen rows and their order.
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
    """Training progress, with the loss per target token in nats; ``dev`` is set at the end of an epoch."""

    step: int
    steps: int
    loss: float
    dev: float | None = None


def turns_of(
    step: str, rows: Sequence[GoldRow], split: Split, adapter: Any, languages: Languages, seed: int
) -> list[Turn]:
    """Return the turns of one split of a step, in the order of the rows."""
    compiling = COMPILABLE[step]
    assert compiling.finetuning is not None
    signature = compiling.step.signature.with_instructions(compiling.finetuning.instructions)
    turns = []
    for row in rows:
        if row.split != split:
            continue
        inputs = compiling.finetuning.inputs(row, languages, random.Random(f"{seed}/{row.id}"))
        if inputs is not None:
            outputs = {name: getattr(row, name) for name in signature.output_fields}
            if compiling.step.decides:
                chat, completion = _decision_chat(signature, inputs), "yes" if all(outputs.values()) else "no"
            else:
                chat, completion = adapter.format(signature, [], inputs), adapter.format_outputs(signature, outputs)
            turns.append(Turn(chat, completion, row.language, row.sources[0], row.id))
    return turns


class _RecordingCritic:
    """A critic that records its request."""

    supports_decision_requests = True

    def __call__(self, state: Mapping[str, Any], questions: Mapping[str, Any]) -> dict[str, dict[str, float]]:
        self.state, self.questions = state, questions
        return {name: {"noul": 0.5} for name in questions}


def _decision_chat(signature: type[dspy.Signature], inputs: Mapping[str, str]) -> list[dict[str, str]]:
    critic = _RecordingCritic()
    decide(dspy.Predict(signature), critic, **inputs)
    [(name, question)] = critic.questions.items()
    return decision_chat(critic.state, name, question)
