"""Compiling the step ``grounding``: labelled answers to good questions."""

from optimizers.labels import AnsweredLabel
from optimizers.logistic import FitOptions
from optimizers.steps.base import Compiling, Fitting, Instruction, Rows, Source
from optimizers.steps.examples import balanced, example_row
from optimizers.steps.worth import score_decision
from programs.steps.grounding import STEP

_OUTPUT = "grounded"


def examples(source: Source) -> tuple[Rows, Rows]:
    """Return equal numbers of correct and incorrect answers."""
    rows: Rows = []
    for label in filter(None, map(AnsweredLabel.of, source.questions)):
        rows.append(example_row(label, label.passage, label.inputs, fit=label.good, grounded=label.good))
    kept = balanced(rows, lambda example: example.fit)
    return kept, kept


INSTRUCTIONS = (
    Instruction(
        r"bad",
        "Check each part of the answer against the passage. One name, number or date that is not there, or a part of "
        "the question that stays without an answer, makes it wrong.",
    ),
    Instruction(
        r"good",
        "Find the words of the passage that answer the question. An answer that says the same, in other words or "
        "fewer, is right.",
    ),
)

FITTING = Fitting(
    labels=AnsweredLabel,
    files=("labels/questions.jsonl", "labels/strong.jsonl"),
    faults={},
    options=FitOptions(strength=0.03, embedding=False, shapes=0),
    target_precision=0.85,
    overall=_OUTPUT,
)

COMPILING = Compiling(STEP, examples, score_decision, INSTRUCTIONS, deviation=0.45, fitting=FITTING)
