"""Compiling the step ``split``: questions that ask several things, and one question for each of them."""

from collections.abc import Iterator
from typing import Any, Literal

import dspy
import numpy as np
from pydantic import Field
from scipy.optimize import linear_sum_assignment

from optimizers.gold_rows import GoldOfSeveralChunks, Question, unchanged
from optimizers.steps.base import Compiling, Instruction, Judges, Rows, Scored, Source
from optimizers.steps.examples import example_row
from programs.features import agreement
from programs.steps.split import STEP, parts_of


class SplitGold(GoldOfSeveralChunks):
    """A question that asks several things, and one question for each of them."""

    step: Literal["split"]
    question: Question
    questions: tuple[Question, ...] = Field(min_length=2)

    def _faults(self) -> Iterator[str]:
        return (fault for part in self.questions for fault in unchanged(self.question, part))


_ALIKE = 0.6  # token F1 from which on a part asks what the gold one does; set by reading


def examples(source: Source) -> tuple[Rows, Rows]:
    """Return the gold questions with their parts, to be shown and to try on."""
    rows = [
        example_row(row, _passage(row, source), {"question": row.question}, questions=list(row.questions))
        for row in source.gold_of(SplitGold)
    ]
    return rows, rows


def _passage(row: SplitGold, source: Source) -> str:
    return "\n\n".join(source.texts[chunk] for chunk in row.chunks if chunk in source.texts) or row.question


def worth(example: dspy.Example, output: Any, judges: Judges) -> Scored:
    """Return how well the parts match the gold ones: the mean token F1 of each gold part with a part of its own.

    A part too many counts as one that matches nothing.
    """
    del judges
    meant, parts = list(example.questions), parts_of(output.questions)
    alike = np.array([[agreement(part, one) for part in parts] for one in meant]).reshape(len(meant), len(parts))
    value, feedback = dict.fromkeys(meant, 0.0), []
    for row, column in zip(*linear_sum_assignment(alike, maximize=True), strict=True):
        value[meant[row]] = float(alike[row, column])
    if len(parts) != len(meant):
        feedback.append(f"It wrote {len(parts)} questions where {len(meant)} things are asked.")
    feedback += [f"No question of its own asks {one!r}." for one in meant if value[one] < _ALIKE]
    return Scored(sum(value.values()) / max(len(parts), len(meant)), " ".join(feedback))


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

COMPILING = Compiling(STEP, examples, worth, INSTRUCTIONS, deviation=0.25, gold=SplitGold)
