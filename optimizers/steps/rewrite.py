"""Compiling the step ``rewrite``: refused questions, and good ones about the same fact."""

from collections import defaultdict
from typing import Any

import dspy

from optimizers.labels import QuestionLabel
from optimizers.steps.base import Compiling, Instruction, Judges, Rows, Scored, Source
from optimizers.steps.examples import answered, example_row
from optimizers.steps.judge import FITTING
from optimizers.steps.worth import meant_question_worth
from programs.steps.feedback import OBJECTIONS
from programs.steps.question import seed_question, tidy_question
from programs.steps.rewrite import STEP
from programs.text import plain, tokens
from programs.types import Focus

# What a rewrite can mend, by the output of the critic that says so; a question without an answer stays one.
_MENDABLE = {reason: output for output in ("independent", "clear") for reason in FITTING.faults[output]}


def examples(source: Source) -> tuple[Rows, Rows]:
    """Pair a refused question with a good one about the same passage that shares most of its words."""
    partners: dict[str, list[tuple[QuestionLabel, Focus]]] = defaultdict(list)
    for good, passage, focus in answered(source):
        partners[passage].append((good, focus))
    rows: Rows = []
    for label in source.questions:
        passage = plain(label.passage)
        if label.reason not in _MENDABLE or not partners[passage]:
            continue
        words = set(tokens(label.question))
        good, focus = max(partners[passage], key=lambda pair: len(words & set(tokens(pair[0].question))))
        asked = {
            "topic": label.topic,
            "fact": focus.fact,
            "answer": focus.answer,
            "question": label.question,
            "feedback": label.explanation or OBJECTIONS[_MENDABLE[label.reason]],
        }
        rows.append(example_row(label, passage, asked, focus=focus, better_question=good.question))
    return rows, rows


def worth(example: dspy.Example, output: Any, judges: Judges) -> Scored:
    """Return what the mended question is worth for its answer; 0 for one that was not changed."""
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

COMPILING = Compiling(STEP, examples, worth, INSTRUCTIONS, deviation=0.19, asks_model=True)
