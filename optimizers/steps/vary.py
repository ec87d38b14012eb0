"""Compiling the step ``vary``: answers with other wordings."""

from collections.abc import Iterator
from typing import Any, Literal

import dspy
from pydantic import Field

from optimizers.gold import Question, SingleChunkGold, Text
from optimizers.steps.base import Compiling, Instruction, Judges, Rows, Scored, Source
from optimizers.steps.examples import example_row
from programs.features import agreement
from programs.steps.vary import STEP, wording_problem, wordings_of
from programs.text import numbers, tokens


class VaryGold(SingleChunkGold):
    """An answer and other wordings of it."""

    step: Literal["vary"]
    passage: Text
    question: Question
    answer: Text
    wordings: tuple[Text, ...] = Field(min_length=1)

    def _problems(self) -> Iterator[str]:
        for wording in self.wordings:
            if tokens(wording) == tokens(self.answer):
                yield f"the wording repeats the answer: {wording}"
            if not numbers(self.answer) <= numbers(wording):
                yield f"the wording lacks a number of the answer: {wording}"


def examples(source: Source) -> tuple[Rows, Rows]:
    """Return the answers of gold rows with their wordings."""
    rows: Rows = []
    for row in source.gold_of(VaryGold):
        inputs = {"question": row.question, "answer": row.answer, "count": len(row.wordings)}
        rows.append(example_row(row, row.passage, inputs, wordings="\n".join(row.wordings)))
    return rows, rows


def metric(example: dspy.Example, output: Any, judges: Judges) -> Scored:
    """Return the mean over the requested wordings: 0 without a valid one, else 0.5 to 1 by token F1 with a gold one."""
    language = judges.language_of(example)
    written = wordings_of(str(output.wordings), example.count)
    value, feedback = 0.0, []
    for wording in written:
        problem = wording_problem(wording, example.question, example.answer, example.passage, language)
        if problem:
            feedback.append(f"{wording!r} {problem}.")
        else:
            value += (1 + max(agreement(wording, gold) for gold in example.wordings.splitlines())) / 2
    if len(written) < example.count:
        feedback.append(f"It wrote {len(written)} of {example.count} wordings.")
    return Scored(value / example.count, " ".join(feedback))


INSTRUCTIONS = (
    Instruction(
        r"It wrote|repeats",
        "Say the answer again in other words, once on each line and as often as the count says. Begin with a whole "
        "sentence that repeats the question's words, then shorten it.",
    ),
    Instruction(
        r"other names|other numbers",
        "Write the answer anew on each line with other small words only. Copy its names and numbers letter by letter, "
        "and bring in nothing that question and answer do not have.",
    ),
)

COMPILING = Compiling(STEP, examples, metric, INSTRUCTIONS, deviation=0.25, gold=VaryGold)
