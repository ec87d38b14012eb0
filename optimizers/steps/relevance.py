"""Compiling the step ``relevance``: questions with passages that help to answer them or do not."""

from typing import Any, Literal

from optimizers.gold import SearchedChunkGold, Text
from optimizers.steps.base import Compiling, Instruction, Rows, Source
from optimizers.steps.examples import balanced, clean_topic, example_row, gold_with_passages
from optimizers.steps.worth import score_decision
from programs.steps.relevance import STEP


class RelevanceGold(SearchedChunkGold):
    """A question, and whether a chunk helps to answer it."""

    step: Literal["relevance"]
    topic: str
    question: Text
    relevant: bool
    explanation: Text


def examples(source: Source) -> tuple[Rows, Rows]:
    """Return equal numbers of passages that help and passages that do not."""
    rows: Rows = []
    for row, passage in gold_with_passages(source, RelevanceGold):
        inputs = {"question": row.question, "topic": clean_topic(row.topic), "passage": passage}
        decided: dict[str, Any] = {"relevant": row.relevant, "fit": row.relevant, "explanation": row.explanation}
        rows.append(example_row(row, passage, inputs, **decided))
    kept = balanced(rows, lambda example: bool(example.fit))
    return kept, kept


INSTRUCTIONS = (
    Instruction(
        r"bad",
        "Find the words of the passage that an answer would use. If the passage only has the same subject, name or "
        "number as the question, it does not help.",
    ),
    Instruction(
        r"good",
        "A passage helps if it gives any part of the answer, in whatever words. It need not answer the whole question.",
    ),
)

COMPILING = Compiling(STEP, examples, score_decision, INSTRUCTIONS, deviation=0.45, gold=RelevanceGold)
