"""Compiling the step ``judge``: labelled questions, and decisions that agree with the label."""

from optimizers.labels import QuestionLabel
from optimizers.logistic import FitOptions
from optimizers.steps.base import Compiling, Fitting, Instruction, Rows, Source
from optimizers.steps.examples import balanced, example_row
from optimizers.steps.worth import decision_worth
from programs.steps.judge import STEP
from programs.text import plain


def examples(source: Source) -> tuple[Rows, Rows]:
    """Return as many good questions as bad ones."""
    rows: Rows = []
    for label in source.questions:
        asked = {"passage": plain(label.passage), "question": label.question}
        rows.append(example_row(label, asked["passage"], asked, fit=label.good))
    kept = balanced(rows, lambda example: example.fit)
    return kept, kept


INSTRUCTIONS = (
    Instruction(
        r"bad",
        "Be strict. A question is fit only if it names its subject, is one correct sentence, and the passage "
        "states its answer.",
    ),
    Instruction(
        r"good",
        "Imagine the question on a card without the passage. Is it clear what is asked, and does the passage give "
        "the answer?",
    ),
)

FITTING = Fitting(
    # Not those of a strong writer: what is wrong with them is not on their surface.
    labels=QuestionLabel,
    files=("labels/questions.jsonl",),
    faults={
        "independent": ("context_reference", "vague"),
        "clear": ("malformed", "conjoined", "gives_away"),
        "answerable": ("unanswerable", "wrong_premise"),
    },
    options=FitOptions(strength=0.03, embedding=False),
    target_precision=0.8,
)

COMPILING = Compiling(STEP, examples, decision_worth, INSTRUCTIONS, deviation=0.52, fitting=FITTING)
