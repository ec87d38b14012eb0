"""Compiling the step ``judge``: labelled questions and the expected decisions."""

from optimizers.labels import QuestionLabel
from optimizers.logistic import FitOptions
from optimizers.steps.base import Compiling, Fitting, Instruction, Rows, Source
from optimizers.steps.examples import balanced, example_row
from optimizers.steps.worth import score_decision
from programs.steps.judge import STEP
from programs.text import plain


def examples(source: Source) -> tuple[Rows, Rows]:
    """Return equal numbers of good and bad questions."""
    rows: Rows = []
    for label in source.questions:
        inputs = {"passage": plain(label.passage), "question": label.question}
        rows.append(example_row(label, inputs["passage"], inputs, fit=label.good))
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
    labels=QuestionLabel,
    files=(
        "labels/questions.jsonl",
    ),  # without strong.jsonl: surface features do not show the faults of strong writers
    faults={
        "independent": ("context_reference", "vague"),
        "clear": ("malformed", "conjoined", "gives_away"),
        "answerable": ("unanswerable", "wrong_premise"),
    },
    options=FitOptions(strength=0.03, embedding=False),
    target_precision=0.8,
)

COMPILING = Compiling(STEP, examples, score_decision, INSTRUCTIONS, deviation=0.52, fitting=FITTING)
