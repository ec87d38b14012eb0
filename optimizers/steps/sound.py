"""Compiling the step ``sound``: questions that people or models wrote to a fact, each read and found sound or not."""

import random
from collections.abc import Iterator, Sequence
from typing import Literal

from optimizers.gold_rows import GoldOfOneChunk, GoldRow, Text
from optimizers.labels import Label, QuestionLabel
from optimizers.steps.base import Compiling, Rows, Source, Teaching
from optimizers.steps.examples import topic_once
from optimizers.steps.question import QuestionGold
from optimizers.steps.worth import decision_worth
from programs.languages.table import Languages
from programs.steps.pair import inputs_of
from programs.steps.sound import STEP


class SoundGold(GoldOfOneChunk):
    """A question and its answer, read: whether they are sound for their fact; ``kind`` says what is wrong."""

    step: Literal["sound"]
    topic: str
    before: str
    fact: Text
    answer: Text
    question: Text
    sound: bool
    kind: Literal["", "alone", "form", "unclear", "unanswerable", "wrong", "gives_away", "senseless"]

    def _faults(self) -> Iterator[str]:
        if self.sound != (not self.kind):
            yield "what is sound has no kind of fault, and what is not has one"


_TWIN = "-twin"  # ends the id of a question that was spoilt in a word or two
_FAULTS = {
    "context_reference": "alone", "vague": "alone", "unanswerable": "unanswerable", "wrong_premise": "wrong",
    "malformed": "form", "conjoined": "unclear", "gives_away": "gives_away",
}  # fmt: skip


def examples(source: Source) -> tuple[Rows, Rows]:
    """Return none: only weights are trained for this step, on gold rows."""
    del source
    return [], []


def _read(rows: Sequence[Label | GoldRow]) -> Sequence[GoldRow]:
    """Return what was read: outputs of models, and each question that has a spoilt twin together with it."""
    twins = {row.id: row for row in rows if isinstance(row, QuestionLabel)}
    pairs = [
        pair
        for row in rows
        if isinstance(row, QuestionGold) and row.reply is None and f"{row.id}{_TWIN}" in twins
        for pair in _twins(row, twins[f"{row.id}{_TWIN}"])
    ]
    return [*pairs, *(row for row in rows if isinstance(row, SoundGold))]


def _twins(good: QuestionGold, spoilt: QuestionLabel) -> Iterator[SoundGold]:
    fields = good.model_dump(exclude={"step", "kind", "reply"})
    yield SoundGold(step="sound", sound=True, kind="", **fields)
    fields |= {"id": spoilt.id, "question": spoilt.question}
    yield SoundGold(step="sound", sound=False, kind=_FAULTS[spoilt.reason], **fields)


def taught(row: SoundGold, languages: Languages, chance: random.Random) -> dict[str, str]:
    """Return what a run would show of a row."""
    del chance
    asked = inputs_of(topic_once(row.topic), languages[row.language].sentences(row.before), row.fact)
    return {**asked, "question": row.question, "answer": row.answer}


TEACHING = Teaching(("question", "twins", "sound"), _read, "Decide whether question and answer are sound.", taught)
COMPILING = Compiling(STEP, examples, decision_worth, (), deviation=0.2, teaching=TEACHING, gold=SoundGold)
