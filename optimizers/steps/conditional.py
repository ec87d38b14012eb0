"""Compiling the step ``conditional``: good questions with a condition, and both put together without loss."""

from typing import Any

import dspy

from optimizers.steps.base import Compiling, Instruction, Judges, Rows, Scored, Source
from optimizers.steps.examples import example_row
from optimizers.steps.worth import question_worth
from programs.conditions import condition_in
from programs.evidence import lost_words
from programs.steps.conditional import STEP
from programs.steps.question import tidy_question
from programs.text import plain
from programs.types import Focus


def examples(source: Source) -> tuple[Rows, Rows]:
    """Pair good questions with the first condition that a sentence of their passage states."""
    rows: Rows = []
    for label in source.questions:
        if not label.good:
            continue
        passage = plain(label.passage)
        language = source.languages.of(passage)
        foci = [Focus(sentence=sentence, answer="-") for sentence in language.sentences(passage)]
        found = (condition_in(focus, label.question, language) for focus in foci)
        if condition := next((condition for condition in found if condition), None):
            asked = {"topic": label.topic, "question": label.question, "condition": condition.text}
            rows.append(example_row(label, passage, asked))
    return [], rows


def worth(example: dspy.Example, output: Any, judges: Judges) -> Scored:
    """Return the critic's probability that the question is good; 0 if it lost the condition or the seed question."""
    written = tidy_question(output.conditional_question)
    for what, text in (("condition", example.condition), ("question", example.question)):
        lost = lost_words(text, written, judges.language_of(example))
        if lost:
            return Scored(0.0, f"It lost words of the {what}: {', '.join(lost)}.")
    return question_worth(example, written, judges)


INSTRUCTIONS = (
    Instruction(
        r"words of the condition",
        "Write the condition word for word, then a comma, then the question word for word.",
    ),
    Instruction(
        r"words of the question",
        "Put the condition before the question and join them with a comma. Change nothing else.",
    ),
    Instruction(
        r"well formed|well-formed|question word",
        "Ask the same question of somebody who first hears the condition: condition, comma, question. It must be "
        "one correct sentence that ends with a question mark.",
    ),
)

COMPILING = Compiling(STEP, examples, worth, INSTRUCTIONS, deviation=0.17)
