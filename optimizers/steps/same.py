"""Compiling the step ``same``: seed questions paired with evolved and merely reworded ones."""

from typing import Literal

from optimizers.gold import ComparedGold
from optimizers.logistic import FitOptions
from optimizers.steps.base import Compiling, Fitting, Instruction, Rows, Source
from optimizers.steps.examples import comparison_examples
from optimizers.steps.worth import score_decision
from programs.steps.same import STEP


class SameGold(ComparedGold):
    """A seed question and an evolved one, and whether both ask the same in the same depth."""

    step: Literal["same"]
    kind: Literal["", "changed"]


def examples(source: Source) -> tuple[Rows, Rows]:
    """Return equal numbers of rewordings and changed questions."""
    return comparison_examples(source, SameGold, "same")


INSTRUCTIONS = (
    Instruction(
        r"bad",
        "Think of the full answer to each question. If the second needs a fact, a step or a condition that the first "
        "does not, they are not the same.",
    ),
    Instruction(
        r"good",
        "Leave wording, order and length aside. If whoever can answer the first can answer the second without "
        "learning anything more, they are the same.",
    ),
)

FITTING = Fitting(
    labels=SameGold,
    files=("gold/same.jsonl",),
    faults={},
    options=FitOptions(strength=0.03, embedding=False, shapes=0),
    target_precision=0.85,
    overall="same",
)

COMPILING = Compiling(STEP, examples, score_decision, INSTRUCTIONS, deviation=0.45, fitting=FITTING, gold=SameGold)
