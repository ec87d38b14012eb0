"""Compiling the step ``rewrite``: refused questions, and good ones about the same fact."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import dspy

from optimizers.gold_rows import GoldOfOneChunk, Question, Text, not_within, unchanged
from optimizers.steps.base import Compiling, Instruction, Judges, Rows, Scored, Source, Teaching, as_it_stands, only
from optimizers.steps.examples import example_row, of_gold, topic_once
from optimizers.steps.worth import meant_question_worth
from programs.steps.question import seed_question, tidy_question
from programs.steps.rewrite import STEP
from programs.types import Focus


class RewriteGold(GoldOfOneChunk):
    """A refused question, advice, and the question that it leads to; ``kind`` is the reason of the refusal."""

    step: Literal["rewrite"]
    topic: str
    before: str
    fact: Text
    answer: Text
    question: Text
    feedback: Text
    better_question: Question
    kind: Literal["context_reference", "vague", "malformed", "conjoined"]

    def passage_in(self, texts: Mapping[str, str]) -> str:
        """Return the text of its chunk, what the row holds of it where that is not known."""
        return texts.get(self.chunk, self.fact)

    def _faults(self) -> Iterator[str]:
        yield from not_within(self.answer, self.fact)
        yield from unchanged(self.question, self.better_question)
        if not self.feedback.endswith(".") or "?" in self.feedback:
            yield "feedback is a sentence that ends with a full stop"


def examples(source: Source) -> tuple[Rows, Rows]:
    """Return the refused questions of gold rows with the advice on them and the question that it leads to."""
    rows: Rows = []
    for row, passage in of_gold(source, RewriteGold):
        focus = Focus(sentence=row.fact, answer=row.answer)
        rows.append(example_row(row, passage, _shown(row), focus=focus, better_question=row.better_question))
    return rows, rows


def _shown(row: RewriteGold) -> dict[str, str]:
    return {
        "topic": topic_once(row.topic),
        "fact": row.fact,
        "answer": row.answer,
        "question": row.question,
        "feedback": row.feedback,
    }


def worth(example: dspy.Example, output: Any, judges: Judges) -> Scored:
    """Return what the rewritten question is worth for its answer; 0 for one that was not changed."""
    better = seed_question(output.better_question, example.focus, judges.language_of(example))
    if better == tidy_question(example.question):
        return Scored(0.0, "It repeats the question that was refused.")
    return meant_question_worth(example, better, judges)


INSTRUCTIONS = (
    Instruction(
        r"repeats",
        "The question was refused. Write another one about the same fact that does what the feedback asks. It "
        "names its subject in full and has the given answer.",
    ),
    Instruction(
        r"name the subject|pronoun|points at|names nothing",
        "Replace every it, he, she, they and every mention of the passage by the full name from the topic or the "
        "fact. The question keeps the given answer and does not contain it.",
    ),
    Instruction(
        r"well formed|well-formed|question word|no question",
        "Write the question anew in one short, correct sentence that opens with a question word. Its answer is "
        "the given one; it names its subject in full.",
    ),
    Instruction(
        r"gives its answer away", "Ask for the given answer without using its words, and name the subject in full."
    ),
)

TEACHING = Teaching(("rewrite",), only(RewriteGold), "Mend the question as the feedback says.", as_it_stands(_shown))
COMPILING = Compiling(
    STEP, examples, worth, INSTRUCTIONS, deviation=0.19, asks_model=True, teaching=TEACHING, gold=RewriteGold
)
