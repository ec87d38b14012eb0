"""Compiling the step ``panel``: drafts with and without a fault, from the viewpoint of one critic."""

from collections.abc import Iterator
from typing import Literal

from optimizers.gold import Question, SingleChunkGold, Text
from optimizers.steps.base import Compiling, Instruction, Rows, Source
from optimizers.steps.examples import balanced, example_row
from optimizers.steps.worth import score_decision
from programs.steps.panel import STEP, VIEWPOINTS


class PanelGold(SingleChunkGold):
    """A question with its answer, as one critic sees it; ``kind`` names the fault, ``opinions`` those of the others."""

    step: Literal["panel"]
    passage: Text
    question: Question
    answer: Text
    viewpoint: Literal["accuracy", "clarity", "use"]
    opinions: str = ""
    approved: bool
    kind: Literal["", "unsupported", "incomplete", "unclear", "conjoined", "gives_away", "useless"]

    def _problems(self) -> Iterator[str]:
        if self.approved != (not self.kind):
            yield "kind names the fault: it must be empty if approved is true and set if approved is false"


def examples(source: Source) -> tuple[Rows, Rows]:
    """Return equal numbers of drafts to approve and to refuse."""
    rows: Rows = []
    for row in source.gold_of(PanelGold):
        inputs = {
            "passage": row.passage,
            "question": row.question,
            "answer": row.answer,
            "viewpoint": VIEWPOINTS[row.viewpoint],
            "opinions": row.opinions,
        }
        rows.append(example_row(row, row.passage, inputs, fit=row.approved, approved=row.approved))
    kept = balanced(rows, lambda example: bool(example.fit))
    return kept, kept


INSTRUCTIONS = (
    Instruction(
        r"bad",
        "You are one of three critics of an evaluation set. Look for one fault that the viewpoint names, in the "
        "question and in the answer. If you find one, do not approve.",
    ),
    Instruction(
        r"good",
        "You are one of three critics of an evaluation set. Leave everything to the other critics that the viewpoint "
        "does not name, and approve if you can point at no fault.",
    ),
)

COMPILING = Compiling(STEP, examples, score_decision, INSTRUCTIONS, deviation=0.45, gold=PanelGold)
