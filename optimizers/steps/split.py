"""Compiling the step ``split``: compound questions and their parts."""

from collections.abc import Iterator
from typing import Any, Literal

import dspy
import numpy as np
from pydantic import Field
from scipy.optimize import linear_sum_assignment

from optimizers.gold import MultiChunkGold, Question, unchanged
from optimizers.steps.base import Compiling, Instruction, Judges, Rows, Scored, Source
from optimizers.steps.examples import example_row
from programs.features import agreement
from programs.steps.split import STEP, parts_of


class SplitGold(MultiChunkGold):
    """A compound question and one question for each of its parts."""

    step: Literal["split"]
    question: Question
    questions: tuple[Question, ...] = Field(min_length=2)

    def _problems(self) -> Iterator[str]:
        return (problem for part in self.questions for problem in unchanged(self.question, part))


_ALIKE = 0.6  # token F1 from which a part matches a gold part; chosen by inspection


def examples(source: Source) -> tuple[Rows, Rows]:
    """Return the gold questions with their parts."""
    rows = [
        example_row(row, _passage(row, source), {"question": row.question}, questions=list(row.questions))
        for row in source.gold_of(SplitGold)
    ]
    return rows, rows


def _passage(row: SplitGold, source: Source) -> str:
    return "\n\n".join(source.texts[chunk] for chunk in row.chunks if chunk in source.texts) or row.question


def metric(example: dspy.Example, output: Any, judges: Judges) -> Scored:
    """Return the mean token F1 of the gold parts, each matched to a different part; extra parts count 0."""
    del judges
    expected, parts = list(example.questions), parts_of(output.questions)
    alike = np.array([[agreement(part, one) for part in parts] for one in expected]).reshape(len(expected), len(parts))
    value, feedback = dict.fromkeys(expected, 0.0), []
    for row, column in zip(*linear_sum_assignment(alike, maximize=True), strict=True):
        value[expected[row]] = float(alike[row, column])
    if len(parts) != len(expected):
        feedback.append(f"It wrote {len(parts)} questions where {len(expected)} things are asked.")
    feedback += [f"No question of its own asks {one!r}." for one in expected if value[one] < _ALIKE]
    return Scored(sum(value.values()) / max(len(parts), len(expected)), " ".join(feedback))


INSTRUCTIONS = (
    Instruction(
        r"It wrote",
        "Count the things that the question asks. Write a question for each of them, each on a line of its own, and "
        "nothing else.",
    ),
    Instruction(
        r"No question of its own",
        "Write each part with the words of the question. Say the subject in every part, as the question calls it; "
        "never write it, they, there or then for it.",
    ),
)

COMPILING = Compiling(STEP, examples, metric, INSTRUCTIONS, deviation=0.25, gold=SplitGold)
