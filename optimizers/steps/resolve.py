"""Compiling the step ``resolve``: conversations with the stand-alone form of their last message, and with others."""

from typing import Literal

from optimizers.gold import ComparedGold
from optimizers.steps.base import Compiling, Instruction, Rows, Source
from optimizers.steps.examples import comparison_examples
from optimizers.steps.worth import score_decision
from programs.steps.resolve import STEP


class ResolveGold(ComparedGold):
    """A conversation and a question, and whether the question asks what the last message asks."""

    step: Literal["resolve"]
    kind: Literal["", "subject", "other", "condition"]

    @property
    def inputs(self) -> dict[str, str]:
        """Return the inputs of the critic."""
        return {"conversation": self.first, "question": self.second}


def examples(source: Source) -> tuple[Rows, Rows]:
    """Return equal numbers of questions that ask the same and of questions that do not."""
    return comparison_examples(source, ResolveGold, "resolved")


INSTRUCTIONS = (
    Instruction(
        r"bad",
        "Say the last message with every it, they, there and that replaced by its name, and compare it with the "
        "question word by word. Another thing, person, time or condition is no.",
    ),
    Instruction(
        r"good",
        "Fuller names and other words are no difference. Ask only whether both would get the same answer.",
    ),
)

# No head is fitted: the questions differ in a word or two.
COMPILING = Compiling(STEP, examples, score_decision, INSTRUCTIONS, deviation=0.45, gold=ResolveGold)
