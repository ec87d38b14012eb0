"""Compiling the step ``distil``: questions with passages, and which of these they need."""

from collections.abc import Iterator
from typing import Any, Literal

import dspy

from optimizers.gold import PassagesGold, Text
from optimizers.steps.base import Compiling, Instruction, Judges, Rows, Scored, Source
from optimizers.steps.examples import example_row, numbered_passages
from programs.steps.distil import STEP, missing_of, needed_of
from programs.text import share


class DistilGold(PassagesGold):
    """A question, its candidate chunks with their topics, the needed ones, and what is missing (empty if nothing)."""

    step: Literal["distil"]
    question: Text
    needed: tuple[Text, ...]
    missing: str

    def _problems(self) -> Iterator[str]:
        yield from super()._problems()
        if not set(self.needed) <= set(self.chunks):
            yield "a needed chunk is not among the chunks"
        if not self.needed and not self.missing:
            yield "missing must be set if no chunk is needed"


def examples(source: Source) -> tuple[Rows, Rows]:
    """Return questions with their candidates; needed chunks as numbers."""
    rows: Rows = []
    for row, passages, shown in numbered_passages(source, DistilGold):
        numbers = [number for number, chunk in enumerate(row.chunks, 1) if chunk in row.needed]
        inputs = {"question": row.question, "passages": shown}
        needed, missing = ", ".join(map(str, numbers)) or "none", row.missing or "nothing"
        more: dict[str, Any] = {"numbers": numbers, "count": len(passages), "needed": needed, "missing": missing}
        rows.append(example_row(row, "\n\n".join(passages), inputs, **more))
    return rows, rows


def metric(example: dspy.Example, output: Any, judges: Judges) -> Scored:
    """Return the mean of the F1 of the needed passages and of the verdict whether something is missing."""
    del judges
    written, wanted = set(needed_of(output.needed, example.count)), set(example.numbers)
    right = 2 * share(len(written & wanted), len(written) + len(wanted)) if written | wanted else 1.0
    lacks, should_lack = bool(missing_of(output.missing)), bool(missing_of(example.missing))
    feedback = []
    if extra := written - wanted:
        feedback.append(f"Not needed: {', '.join(map(str, sorted(extra)))}.")
    if left_out := wanted - written:
        feedback.append(f"Needed, too: {', '.join(map(str, sorted(left_out)))}.")
    if lacks != should_lack:
        feedback.append(f"The passages do not say {example.missing}." if should_lack else "Nothing is missing.")
    return Scored((right + (lacks == should_lack)) / 2, " ".join(feedback))


INSTRUCTIONS = (
    Instruction(
        r"Not needed|Needed, too",
        "Answer the question for yourself from all passages. Write down the number of each passage that the answer "
        "took something from, and no other number.",
    ),
    Instruction(
        r"do not say|Nothing is missing",
        "Take the question apart. For each part look for the words that answer it. As missing write the parts for "
        "which there are none; if each part has an answer, write nothing.",
    ),
)

COMPILING = Compiling(STEP, examples, metric, INSTRUCTIONS, deviation=0.3, gold=DistilGold)
