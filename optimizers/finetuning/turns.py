"""Gold rows as the chats that a model learns from, rendered as a run renders them."""

import random
from collections.abc import Sequence
from typing import Any

from optimizers.finetuning.base import Turn
from optimizers.gold_rows import GoldRow
from optimizers.labels import Split
from optimizers.steps import COMPILABLE
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
            chat, completion = adapter.format(signature, [], shown), adapter.format_outputs(signature, written)
            turns.append(Turn(chat, completion, row.language, row.sources[0], row.id))
    return turns
