"""Compiling the step ``open_answer``: gold questions of ``ask`` that are answered in whole sentences."""

from typing import Any

import dspy

from optimizers.steps.ask import AskGold
from optimizers.steps.base import Compiling, Finetuning, Instruction, Judges, Rows, Scored, Source
from optimizers.steps.examples import example_row
from optimizers.steps.worth import STRAY
from programs.features import agreement
from programs.steps.open_answer import STEP
from programs.text import numbers


def signature_inputs(row: AskGold) -> dict[str, str]:
    """Return the inputs that a run would pass."""
    return {"topic": row.topic, "passage": row.passage, "question": row.question}


def examples(source: Source) -> tuple[Rows, Rows]:
    """Return questions with an answer in whole sentences."""
    rows = [
        example_row(row, row.passage, signature_inputs(row), answer=row.answer)
        for row in source.gold_of(AskGold)
        if row.answers == "open"
    ]
    return rows, rows


def metric(example: dspy.Example, output: Any, judges: Judges) -> Scored:
    """Return the F1 of content words with the gold answer, halved if a number is not in the passage."""
    language = judges.language_of(example)
    if not language.is_stated(output.answer):
        return Scored(0.0, "The passage answers it.")
    words, expected = (" ".join(language.content_words(text)) for text in (output.answer, example.answer))
    value = agreement(words, expected)
    if numbers(output.answer) - numbers(f"{example.passage} {example.question}"):
        return Scored(value * STRAY, "It holds a number that the passage does not state.")
    return Scored(value, "" if value > STRAY else f"The answer is: {example.answer}")


INSTRUCTIONS = (
    Instruction(
        r"answers it",
        "Find the sentences of the passage that speak of what the question asks, and answer with what they say, in "
        'one to three whole sentences. Write "not stated" only if there are none.',
    ),
    Instruction(
        r"number|The answer is",
        "Answer in one to three whole sentences with the words and figures of the passage. Say all that the question "
        "asks for, nothing beside it and nothing that the passage does not say.",
    ),
)

FINETUNING = Finetuning.on_gold(
    AskGold, "ask", "Answer the question in whole sentences, from the passage alone.", signature_inputs
)
COMPILING = Compiling(STEP, examples, metric, INSTRUCTIONS, deviation=0.2, finetuning=FINETUNING)
