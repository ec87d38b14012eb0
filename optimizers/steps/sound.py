"""Compiling the step ``sound``: reviewed questions about a fact, labelled sound or not."""

import random
from collections.abc import Iterator, Sequence
from typing import Literal

from optimizers.gold import GoldRow, SingleChunkGold, Text
from optimizers.labels import Label, QuestionLabel
from optimizers.steps.base import Compiling, Finetuning, Rows, Source
from optimizers.steps.examples import clean_topic
from optimizers.steps.question import QuestionGold
from optimizers.steps.worth import score_decision
from programs.languages.table import Languages
from programs.steps.pair import inputs_of
from programs.steps.sound import STEP


class SoundGold(SingleChunkGold):
    """A reviewed question with its answer, and whether both are sound for their fact; ``kind`` names the problem."""

    step: Literal["sound"]
    topic: str
    before: str
    fact: Text
    answer: Text
    question: Text
    sound: bool
    kind: Literal["", "alone", "form", "unclear", "unanswerable", "wrong", "gives_away", "senseless"]

    def _problems(self) -> Iterator[str]:
        if self.sound != (not self.kind):
            yield "kind names the problem: it must be empty if sound is true and set if sound is false"


_CORRUPTED = "-twin"  # suffix of the id of a question corrupted in one or two words
_KINDS = {
    "context_reference": "alone", "vague": "alone", "unanswerable": "unanswerable", "wrong_premise": "wrong",
    "malformed": "form", "conjoined": "unclear", "gives_away": "gives_away",
}  # fmt: skip


def examples(source: Source) -> tuple[Rows, Rows]:
    """Return no examples: the step has no prompt to compile, only weights to train on gold rows."""
    del source
    return [], []


def _reviewed(rows: Sequence[Label | GoldRow]) -> Sequence[GoldRow]:
    """Return the reviewed outputs of models, and each gold question that has a corrupted version, with that version."""
    corrupted = {row.id: row for row in rows if isinstance(row, QuestionLabel)}
    pairs = [
        pair
        for row in rows
        if isinstance(row, QuestionGold) and row.reply is None and f"{row.id}{_CORRUPTED}" in corrupted
        for pair in _pair_of(row, corrupted[f"{row.id}{_CORRUPTED}"])
    ]
    return [*pairs, *(row for row in rows if isinstance(row, SoundGold))]


def _pair_of(good: QuestionGold, corrupted: QuestionLabel) -> Iterator[SoundGold]:
    fields = good.model_dump(exclude={"step", "kind", "reply"})
    yield SoundGold(step="sound", sound=True, kind="", **fields)
    fields |= {"id": corrupted.id, "question": corrupted.question}
    yield SoundGold(step="sound", sound=False, kind=_KINDS[corrupted.reason], **fields)


def finetuning_inputs(row: SoundGold, languages: Languages, rng: random.Random) -> dict[str, str]:
    """Return the inputs that a run would pass."""
    del rng
    inputs = inputs_of(clean_topic(row.topic), languages[row.language].sentences(row.before), row.fact)
    return {**inputs, "question": row.question, "answer": row.answer}


FINETUNING = Finetuning(
    ("question", "twins", "sound"), _reviewed, "Decide whether question and answer are sound.", finetuning_inputs
)
COMPILING = Compiling(STEP, examples, score_decision, (), deviation=0.2, finetuning=FINETUNING, gold=SoundGold)
