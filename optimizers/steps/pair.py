"""Compiling the step ``pair``: facts of gold rows with a question and its answer."""

import random
from typing import Any

import dspy

from optimizers.steps.base import Compiling, Finetuning, Instruction, Judges, Rows, Scored, Source
from optimizers.steps.examples import clean_topic, example_row, gold_with_passages
from optimizers.steps.question import QuestionGold
from optimizers.steps.worth import score_question_for_answer
from programs.languages.table import Languages
from programs.steps.pair import STEP, inputs_of
from programs.steps.question import tidy_question
from programs.types import Focus

_WITH_KIND = 0.5  # share of training rows that name the question kind, so that a run may request one
# Least share of a question's content words that the inputs must contain. Trained on all rows, a 0.5B model wrote 8 good
# questions about 51 hard English facts; with a share of 0.75 it wrote 15 or 16 (docs/experiments/).
_NEAR = 0.6


def examples(source: Source) -> tuple[Rows, Rows]:
    """Return the facts of gold rows with question and answer."""
    rows = []
    for row, passage in gold_with_passages(source, QuestionGold):
        if (inputs := _inputs(row, source.languages)) is not None:
            focus = Focus(sentence=row.fact, answer=row.answer)
            rows.append(example_row(row, passage, inputs, focus=focus, answer=row.answer, question=row.question))
    return rows, rows


def _inputs(row: QuestionGold, languages: Languages) -> dict[str, str] | None:
    """Return the inputs that a run would pass, None for rows to exclude.

    Excluded are yes/no questions, whose answers are not in the passage, and questions with too many words that are not
    in the inputs.
    """
    words_of = languages[row.language].content_words
    words, known = set(words_of(row.question)), set(words_of(f"{row.fact} {row.before} {row.topic}"))
    if row.kind == "yes_no" or len(words & known) < _NEAR * max(1, len(words)):
        return None
    return inputs_of(clean_topic(row.topic), languages[row.language].sentences(row.before), row.fact)


def metric(example: dspy.Example, output: Any, judges: Judges) -> Scored:
    """Return the score of the question for its own answer; 0 if that is not in the fact."""
    answer = output.answer
    if not answer or answer not in example.fact:
        return Scored(0.0, f"The answer {answer!r} is not copied from the fact.")
    target = example.copy(answer=answer, focus=example.focus.model_copy(update={"answer": answer}))
    return score_question_for_answer(target, tidy_question(output.question), judges)


INSTRUCTIONS = (
    Instruction(
        r"name the subject|pronoun|names nothing|points at",
        "Ask one question about the fact and give its answer, words copied from the fact. Take the subject's full name "
        "from the topic or from what is said before. Never write it, he, she, they, this passage or this text.",
    ),
    Instruction(
        r"not copied|no question|gives its answer away",
        "Choose a few words of the fact that are worth asking for and copy them as the answer. Then ask the question "
        "that they answer, with all other details of the fact and without the answer.",
    ),
)


def finetuning_inputs(row: QuestionGold, languages: Languages, rng: random.Random) -> dict[str, str] | None:
    """Return the inputs of a gold row, with the question kind in a random half of the rows."""
    inputs = _inputs(row, languages)
    if inputs is None:
        return None
    return inputs | {"kind": row.kind.replace("_", " ") if rng.random() < _WITH_KIND else ""}


FINETUNING = Finetuning(
    ("question",),
    lambda rows: [row for row in rows if isinstance(row, QuestionGold)],
    "Ask one question about the fact and give its answer.",
    finetuning_inputs,
)
COMPILING = Compiling(STEP, examples, metric, INSTRUCTIONS, deviation=0.27, asks_model=True, finetuning=FINETUNING)
