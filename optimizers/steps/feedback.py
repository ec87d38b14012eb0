"""Compiling the step ``feedback``: refused questions with the advice that rewritten them."""

from typing import Any

import dspy

from optimizers.steps.base import Compiling, Instruction, Judges, Rows, Scored, Source
from optimizers.steps.examples import example_row, of_gold, topic_once
from optimizers.steps.judge import FITTING
from optimizers.steps.rewrite import RewriteGold
from programs.features import agreement
from programs.steps.feedback import OBJECTIONS, STEP
from programs.text import tokens

_MOST_WORDS = 30
_BLAMED = {reason: output for output, reasons in FITTING.faults.items() for reason in reasons}


def examples(source: Source) -> tuple[Rows, Rows]:
    """Return the refused questions of gold rows with the advice on them."""
    rows: Rows = []
    for row, passage in of_gold(source, RewriteGold):
        asked = {
            "topic": topic_once(row.topic),
            "fact": row.fact,
            "question": row.question,
            "objection": OBJECTIONS[_BLAMED[row.kind]],
        }
        rows.append(example_row(row, passage, asked, feedback=row.feedback, better_question=row.better_question))
    return rows, rows


def worth(example: dspy.Example, output: Any, judges: Judges) -> Scored:
    """Return what advice is worth.

    It is the mean of two things: of the words that the rewritten question has and the refused one has not, the share
    that the advice names (1 where there are none); and its token F1 with the gold advice. 0 for a question or for more
    than 30 words.
    """
    advice = " ".join(str(output.feedback).split())
    if not advice:
        return Scored(0.0, "It wrote nothing.")
    if advice.endswith("?") or len(tokens(advice)) > _MOST_WORDS:
        return Scored(0.0, "It is no short sentence of advice.")
    language = judges.language_of(example)
    better, refused, said = (
        set(language.content_words(text)) for text in (example.better_question, example.question, advice)
    )
    lacking = better - refused
    named = len(lacking & said) / len(lacking) if lacking else 1.0
    words = dict.fromkeys(tokens(example.better_question))
    unnamed = [word for word in words if language.stem(word) in lacking - said]
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

COMPILING = Compiling(STEP, examples, worth, INSTRUCTIONS, deviation=0.25)
