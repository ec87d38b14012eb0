"""Compiling the step ``rewrite``: rejected questions, and good ones about the same fact."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import dspy

from optimizers.gold import Question, SingleChunkGold, Text, answer_not_in_fact, unchanged
from optimizers.steps.base import Compiling, Finetuning, Instruction, Judges, Rows, Scored, Source
from optimizers.steps.examples import clean_topic, example_row, gold_with_passages
from optimizers.steps.worth import score_question_for_answer
from programs.steps.question import seed_question, tidy_question
from programs.steps.rewrite import STEP
from programs.types import Focus


class RewriteGold(SingleChunkGold):
    """A rejected question, advice, and the improved question; ``kind`` is the reason for the rejection."""

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
        """Return the text of its chunk, or the fact if that is unknown."""
        return texts.get(self.chunk, self.fact)

    def _problems(self) -> Iterator[str]:
        yield from answer_not_in_fact(self.answer, self.fact)
        yield from unchanged(self.question, self.better_question)
        if not self.feedback.endswith(".") or "?" in self.feedback:
            yield "feedback must be a sentence that ends with a full stop"


def examples(source: Source) -> tuple[Rows, Rows]:
    """Return the rejected questions of gold rows with their advice and the improved question."""
    rows: Rows = []
    for row, passage in gold_with_passages(source, RewriteGold):
        focus = Focus(sentence=row.fact, answer=row.answer)
        rows.append(example_row(row, passage, _inputs(row), focus=focus, better_question=row.better_question))
    return rows, rows


def _inputs(row: RewriteGold) -> dict[str, str]:
    return {
        "topic": clean_topic(row.topic),
        "fact": row.fact,
        "answer": row.answer,
        "question": row.question,
        "feedback": row.feedback,
    }


def metric(example: dspy.Example, output: Any, judges: Judges) -> Scored:
    """Return the score of the rewritten question for its answer; 0 if it was not changed."""
    better = seed_question(output.better_question, example.focus, judges.language_of(example))
    if better == tidy_question(example.question):
        return Scored(0.0, "It repeats the question that was refused.")
    return score_question_for_answer(example, better, judges)


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

FINETUNING = Finetuning.on_gold(RewriteGold, "rewrite", "Mend the question as the feedback says.", _inputs)
COMPILING = Compiling(
    STEP, examples, metric, INSTRUCTIONS, deviation=0.19, asks_model=True, finetuning=FINETUNING, gold=RewriteGold
)
