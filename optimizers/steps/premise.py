"""Compiling the step ``premise``: passages with questions whose premise they state, and with others."""

from typing import Literal

from optimizers.gold import ComparedGold
from optimizers.steps.base import Compiling, Instruction, Rows, Source
from optimizers.steps.examples import comparison_examples
from optimizers.steps.worth import score_decision
from programs.steps.premise import STEP


class PremiseGold(ComparedGold):
    """A passage and a question, and whether the passage states what the question takes for granted."""

    step: Literal["premise"]
    kind: Literal["", "premise"]

    @property
    def inputs(self) -> dict[str, str]:
        """Return the inputs of the critic."""
        return {"passage": self.first, "question": self.second}


def examples(source: Source) -> tuple[Rows, Rows]:
    """Return equal numbers of questions whose premise holds and of questions whose premise does not."""
    return comparison_examples(source, PremiseGold, "holds")


INSTRUCTIONS = (
    Instruction(
        r"bad",
        "List what the question says has happened or is so, and look for each in the passage. One that is otherwise in "
        "the passage, or not there at all, is enough for no.",
    ),
    Instruction(
        r"good",
        "Leave aside whether the passage answers the question: it need not. Ask only whether something that the "
        "question says as a matter of course is wrong.",
    ),
)

# No head is fitted: a false premise differs from a true one in a word or two.
COMPILING = Compiling(STEP, examples, score_decision, INSTRUCTIONS, deviation=0.45, gold=PremiseGold)
