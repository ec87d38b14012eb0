"""Compiling the step ``chunk``: labelled chunks and the expected decisions."""

from optimizers.labels import ChunkLabel
from optimizers.logistic import FitOptions
from optimizers.steps.base import Compiling, Fitting, Instruction, Rows, Source
from optimizers.steps.examples import balanced, example_row
from optimizers.steps.worth import score_decision
from programs.steps.chunk import STEP
from programs.text import plain


def examples(source: Source) -> tuple[Rows, Rows]:
    """Return equal numbers of good and bad chunks."""
    rows = [
        example_row(label, plain(label.text), {"topic": label.topic, "passage": plain(label.text)}, fit=label.good)
        for label in source.chunks
    ]
    kept = balanced(rows, lambda example: example.fit)
    return kept, kept


INSTRUCTIONS = (
    Instruction(
        r"bad",
        "A reader sees only this passage. Is it running text with facts, about things that it names? Lists of "
        "sources, menus, captions and torn-off fragments are not fit.",
    ),
    Instruction(r"good", "Would this passage alone let somebody write a quiz question with one clear answer?"),
)

FITTING = Fitting(
    labels=ChunkLabel,
    files=("labels/chunks.jsonl",),
    faults={
        "content": ("citation", "metadata", "boilerplate", "too_thin"),
        "self_contained": ("not_self_contained",),
    },
    options=FitOptions(strength=0.03, embedding=True, shapes=5),
    target_precision=0.8,
)

COMPILING = Compiling(STEP, examples, score_decision, INSTRUCTIONS, deviation=0.40, fitting=FITTING)
