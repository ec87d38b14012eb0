"""Compiling the step ``pair``: facts of gold rows, questions about them and the words that answer these."""

import random
from typing import Any

import dspy

from optimizers.steps.base import Compiling, Instruction, Judges, Rows, Scored, Source, Teaching, only
from optimizers.steps.examples import example_row, of_gold, topic_once
from optimizers.steps.question import QuestionGold
from optimizers.steps.worth import meant_question_worth
from programs.languages.table import Languages
from programs.steps.pair import STEP, inputs_of
from programs.steps.question import tidy_question
from programs.types import Focus

_OF_A_KIND = 0.5  # of the rows that weights learn from name the kind, so that a run may ask for one
# Share of a question's content words that must be shown. Taught with all rows, a model of half a billion weights wrote
# 8 good questions to 51 hard English facts, with those of a share of 0.75 15 or 16 (docs/experiments/, teaching
# weights).
_NEAR = 0.6


def examples(source: Source) -> tuple[Rows, Rows]:
    """Return the facts of gold rows with question and answer, to be shown and to try on."""
    rows = []
    for row, passage in of_gold(source, QuestionGold):
        if (asked := _shown(row, source.languages)) is not None:
            focus = Focus(sentence=row.fact, answer=row.answer)
            rows.append(example_row(row, passage, asked, focus=focus, answer=row.answer, question=row.question))
    return rows, rows


def _shown(row: QuestionGold, languages: Languages) -> dict[str, str] | None:
    """Return what a run would show of a gold row; None for one that nobody should learn from.

    Whether something is so or not is never asked: its answer is no part of the passage. Questions that go far from
    the words shown are left out.
    """
    words_of = languages[row.language].content_words
    asked, given = set(words_of(row.question)), set(words_of(f"{row.fact} {row.before} {row.topic}"))
    if row.kind == "yes_no" or len(asked & given) < _NEAR * max(1, len(asked)):
        return None
    return inputs_of(topic_once(row.topic), languages[row.language].sentences(row.before), row.fact)


def worth(example: dspy.Example, output: Any, judges: Judges) -> Scored:
    """Return what the question is worth for the answer that comes with it; nothing if the fact does not hold that."""
    answer = output.answer
    if not answer or answer not in example.fact:
        return Scored(0.0, f"The answer {answer!r} is not copied from the fact.")
    meant = example.copy(answer=answer, focus=example.focus.model_copy(update={"answer": answer}))
    return meant_question_worth(meant, tidy_question(output.question), judges)


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


def taught(row: QuestionGold, languages: Languages, chance: random.Random) -> dict[str, str] | None:
    """Return what a run would show of a gold row, half of them with the kind of question."""
    asked = _shown(row, languages)
    if asked is None:
        return None
    return asked | {"kind": row.kind.replace("_", " ") if chance.random() < _OF_A_KIND else ""}


TEACHING = Teaching(("question",), only(QuestionGold), "Ask one question about the fact and give its answer.", taught)
COMPILING = Compiling(STEP, examples, worth, INSTRUCTIONS, deviation=0.27, asks_model=True, teaching=TEACHING)
