"""Compiling the step ``feedback``: rejected questions with advice for rewriting them."""

from typing import Any

import dspy

from optimizers.steps.base import Compiling, Instruction, Judges, Rows, Scored, Source
from optimizers.steps.examples import clean_topic, example_row, gold_with_passages
from optimizers.steps.judge import FITTING
from optimizers.steps.rewrite import RewriteGold
from programs.features import agreement
from programs.steps.feedback import OBJECTIONS, STEP
from programs.text import tokens

_MOST_WORDS = 30
_FAILED_OUTPUTS = {reason: output for output, reasons in FITTING.faults.items() for reason in reasons}


def examples(source: Source) -> tuple[Rows, Rows]:
    """Return the rejected questions of gold rows with their advice."""
    rows: Rows = []
    for row, passage in gold_with_passages(source, RewriteGold):
        inputs = {
            "topic": clean_topic(row.topic),
            "fact": row.fact,
            "question": row.question,
            "objection": OBJECTIONS[_FAILED_OUTPUTS[row.kind]],
        }
        rows.append(example_row(row, passage, inputs, feedback=row.feedback, better_question=row.better_question))
    return rows, rows


def metric(example: dspy.Example, output: Any, judges: Judges) -> Scored:
    """Return the mean of the share of added words that the advice names and its token F1 with the gold advice.

    Added words are those of the rewritten question that the rejected one lacks; without any the share is 1. Questions
    and texts of more than 30 words score 0.
    """
    advice = " ".join(str(output.feedback).split())
    if not advice:
        return Scored(0.0, "It wrote nothing.")
    if advice.endswith("?") or len(tokens(advice)) > _MOST_WORDS:
        return Scored(0.0, "It is no short sentence of advice.")
    language = judges.language_of(example)
    better, rejected, mentioned = (
        set(language.content_words(text)) for text in (example.better_question, example.question, advice)
    )
    lacking = better - rejected
    named = len(lacking & mentioned) / len(lacking) if lacking else 1.0
    words = dict.fromkeys(tokens(example.better_question))
    unnamed = [word for word in words if language.stem(word) in lacking - mentioned]
    feedback = f"It does not say what to name: {', '.join(unnamed)}." if unnamed else ""
    return Scored((named + agreement(advice, example.feedback)) / 2, feedback)


INSTRUCTIONS = (
    Instruction(
        r"what to name",
        "Say which word of the question to replace, and by which full name of the topic or the fact. Write it out.",
    ),
    Instruction(
        r"no short sentence",
        "Write one order that begins with a verb: Name, Ask, Leave out, Replace. Do not write the new question.",
    ),
)

COMPILING = Compiling(STEP, examples, metric, INSTRUCTIONS, deviation=0.25)
