"""Compiling the step ``fits``: questions that fit their profile or do not."""

from collections.abc import Iterator
from typing import Any, Literal

from optimizers.gold import PassagesGold, Text
from optimizers.steps.base import Compiling, Instruction, Rows, Source
from optimizers.steps.examples import balanced, example_row, numbered_passages
from optimizers.steps.worth import score_decision
from programs.steps.fits import STEP


class FitsGold(PassagesGold):
    """A question with its answer and a profile, and whether they fit; ``kind`` is what is wrong if they do not."""

    step: Literal["fits"]
    profile: Text
    question: Text
    answer: Text
    fits: bool
    explanation: str
    kind: Literal["", "form", "options", "persona", "scope"]

    def _problems(self) -> Iterator[str]:
        yield from super()._problems()
        if self.fits != (not self.kind) or self.fits != (not self.explanation):
            yield "kind and explanation say what is wrong: they must be empty if fits is true and set if it is false"


def examples(source: Source) -> tuple[Rows, Rows]:
    """Return equal numbers of questions that fit and questions that do not."""
    rows: Rows = []
    for row, passages, shown in numbered_passages(source, FitsGold):
        inputs = {
            "profile": row.profile,
            "passages": shown,
            "question": row.question,
            "answer": row.answer,
        }
        decided: dict[str, Any] = {"fits": row.fits, "fit": row.fits, "explanation": row.explanation}
        rows.append(example_row(row, "\n\n".join(passages), inputs, **decided))
    kept = balanced(rows, lambda example: bool(example.fit))
    return kept, kept


INSTRUCTIONS = (
    Instruction(
        r"bad",
        "Take each line of the profile by itself and hold question, options and answer against it. One line that is "
        "plainly not met means that they do not fit.",
    ),
    Instruction(
        r"good",
        "Judge the form first, then how much of the passages is needed. Who asks and how hard it is are matters of "
        "degree; do not refuse a question for them unless they are plainly wrong.",
    ),
)

COMPILING = Compiling(STEP, examples, score_decision, INSTRUCTIONS, deviation=0.45, gold=FitsGold)
