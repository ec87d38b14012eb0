"""Compiling the step ``unanswerable``: gold passages with a question that they leave open."""

from collections.abc import Iterator
from typing import Any, Literal

import dspy

from optimizers.gold import Question, SingleChunkGold, Text, unchanged
from optimizers.steps.base import Compiling, Finetuning, Instruction, Judges, Rows, Scored, Source
from optimizers.steps.examples import example_row
from optimizers.steps.worth import score_verdict
from programs.deciding import without_answer
from programs.steps.question import tidy_question
from programs.steps.unanswerable import STEP


class UnanswerableGold(SingleChunkGold):
    """A question that a passage leaves open, with what is missing; and one that it answers."""

    step: Literal["unanswerable"]
    topic: str
    passage: Text
    answered_question: Question
    missing: Text
    question: Question

    def _problems(self) -> Iterator[str]:
        yield from unchanged(self.answered_question, self.question)


def signature_inputs(row: UnanswerableGold) -> dict[str, str]:
    """Return the inputs that a run would pass."""
    return {"topic": row.topic, "passage": row.passage, "answered_question": row.answered_question}


def examples(source: Source) -> tuple[Rows, Rows]:
    """Return the passages of gold rows, with their questions."""
    rows = [
        example_row(row, row.passage, signature_inputs(row), missing=row.missing, question=row.question)
        for row in source.gold_of(UnanswerableGold)
    ]
    return rows, rows


def metric(example: dspy.Example, output: Any, judges: Judges) -> Scored:
    """Return 0.5 to 1 for a clear question that the critic finds not answered by the passage, else up to 0.25."""
    question = tidy_question(output.question)
    if not question.endswith("?"):
        return Scored(0.0, "It wrote no question.")
    return score_verdict(without_answer(judges.judge(example.passage, question)))


INSTRUCTIONS = (
    Instruction(
        r"not unanswerable",
        "Choose a detail that a reader of the passage misses in it: how much, who, when, how long, or what in another "
        "case. Search the passage for it. If it is there, choose another one. Ask for it.",
    ),
    Instruction(
        r"not independent|not clear|no question",
        "Write what is missing in a few words, then one short question for it that names its subject in full, as the "
        "topic does.",
    ),
)

FINETUNING = Finetuning.on_gold(
    UnanswerableGold, "unanswerable", "Ask for something that the passage leaves open.", signature_inputs
)
COMPILING = Compiling(STEP, examples, metric, INSTRUCTIONS, deviation=0.3, finetuning=FINETUNING, gold=UnanswerableGold)
