"""Gold rows as the chats that a model learns from, rendered as a run renders them."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

import dspy

from optimizers.finetuning.base import Turn
from optimizers.gold_rows import GoldRow
from optimizers.labels import Split
from optimizers.steps import COMPILABLE
from programs.critics.logprobs import decision_chat
from programs.deciding import decide
from programs.languages.table import Languages


def turns_of(
    step: str, rows: Sequence[GoldRow], split: Split, adapter: Any, languages: Languages, seed: int
) -> list[Turn]:
    """Return the turns of one split of a step that can be taught, in the order of the rows."""
    compiling = COMPILABLE[step]
    assert compiling.teaching is not None
    signature = compiling.step.signature.with_instructions(compiling.teaching.instructions)
    turns = []
    for row in rows:
        if row.split != split:
            continue
        shown = compiling.teaching.inputs(row, languages, random.Random(f"{seed}/{row.id}"))
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
