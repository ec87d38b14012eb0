"""Compiling the step ``agree``: right answers, and what other readers of the passage answered."""

from typing import Literal

from optimizers.gold_rows import ComparedGold, Question
from optimizers.steps.base import Compiling, Instruction, Rows, Source
from optimizers.steps.examples import compared
from optimizers.steps.worth import decision_worth
from programs.steps.agree import STEP


class AgreeGold(ComparedGold):
    """The answer that was meant and one that a reader gave: whether they agree."""

    step: Literal["agree"]
    question: Question
    kind: Literal["", "fact", "missing", "other"]

    @property
    def inputs(self) -> dict[str, str]:
        """Return what a critic is asked about."""
        return {"question": self.question, "first": self.first, "second": self.second}


def examples(source: Source) -> tuple[Rows, Rows]:
    """Return as many answers that agree as answers that do not."""
    return compared(source, AgreeGold, "agree")


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

# No head is fitted: what tells these answers apart is a word or two. A head learns the manner of whoever wrote them
# instead, and holds it against an answer that it has the words of the other one.
COMPILING = Compiling(STEP, examples, decision_worth, INSTRUCTIONS, deviation=0.45, gold=AgreeGold)
