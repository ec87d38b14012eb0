"""Compiling the step ``agree``: correct answers paired with the answers of other readers."""

from typing import Literal

from optimizers.gold import ComparedGold, Question
from optimizers.steps.base import Compiling, Instruction, Rows, Source
from optimizers.steps.examples import comparison_examples
from optimizers.steps.worth import score_decision
from programs.steps.agree import STEP


class AgreeGold(ComparedGold):
    """The intended answer and the answer of a reader, and whether they agree."""

    step: Literal["agree"]
    question: Question
    kind: Literal["", "fact", "missing", "other"]

    @property
    def inputs(self) -> dict[str, str]:
        """Return the inputs of the critic."""
        return {"question": self.question, "first": self.first, "second": self.second}


def examples(source: Source) -> tuple[Rows, Rows]:
    """Return equal numbers of answers that agree and answers that do not."""
    return comparison_examples(source, AgreeGold, "agree")


INSTRUCTIONS = (
    Instruction(
        r"bad",
        "Compare name by name and number by number. One fact that differs, or one that the question asks for and the "
        "second answer lacks, means that they do not agree.",
    ),
    Instruction(
        r"good",
        "Other words, another order and true details beside the point are no difference. Ask only whether both "
        "answers would be marked right by whoever holds the first.",
    ),
)

# No head is fitted: such answers differ in one or two words. A head learns the style of the annotators instead, and
# penalises word overlap.
COMPILING = Compiling(STEP, examples, score_decision, INSTRUCTIONS, deviation=0.45, gold=AgreeGold)
