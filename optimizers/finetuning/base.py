"""Training data and options of an adapter: gold rows as the chats of a run."""

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


def turns_of(
    step: str, rows: Sequence[GoldRow], split: Split, adapter: Any, languages: Languages, seed: int
) -> list[Turn]:
    """Return the turns of one split of a step that can be taught, in the order of the rows."""
    compiling = COMPILABLE[step]
    assert compiling.finetuning is not None
    signature = compiling.step.signature.with_instructions(compiling.finetuning.instructions)
    turns = []
    for row in rows:
        if row.split != split:
            continue
        shown = compiling.finetuning.inputs(row, languages, random.Random(f"{seed}/{row.id}"))
        if shown is not None:
            written = {name: getattr(row, name) for name in signature.output_fields}
            if compiling.step.decides:
                chat = _asked_to_decide(signature, shown)
            else:
                chat = adapter.format(signature, [], shown)
            completion = _decision(written) if compiling.step.decides else adapter.format_outputs(signature, written)
            turns.append(Turn(chat, completion, row.language, row.sources[0], row.id))
    return turns


class _Asked:
    """A critic that notes what it is asked."""

    supports_decision_requests = True

    def __call__(self, state: Mapping[str, Any], questions: Mapping[str, Any]) -> dict[str, dict[str, float]]:
        self.state, self.questions = state, questions
        return {name: {"noul": 0.5} for name in questions}


def _asked_to_decide(signature: type[dspy.Signature], inputs: Mapping[str, str]) -> list[dict[str, str]]:
    critic = _Asked()
    decide(dspy.Predict(signature), critic, **inputs)
    [(name, question)] = critic.questions.items()
    return decision_chat(critic.state, name, question)


def _decision(written: Mapping[str, bool]) -> str:
    [decided] = written.values()
    return "yes" if decided else "no"
