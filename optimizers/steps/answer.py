"""Compiling the step ``answer``: labelled questions and their correct answers."""

from collections.abc import Iterator
from typing import Any, Literal

import dspy

from optimizers.gold import SingleChunkGold, Text, contains
from optimizers.steps.base import Compiling, Finetuning, Instruction, Judges, Rows, Scored, Source
from optimizers.steps.examples import balanced, clean_topic, example_row, without_repeats
from optimizers.steps.worth import STRAY
from programs.features import agreement
from programs.steps.answer import STEP, tidy_answer
from programs.text import has_words, plain


class AnswerGold(SingleChunkGold):
    """The answer to a question: words of the passage, a reply to a yes_no question, or "not stated"."""

    step: Literal["answer"]
    topic: str
    passage: Text
    question: Text
    answer: Text
    kind: Literal["words", "yes_no", "not_stated"]

    def _problems(self) -> Iterator[str]:
        if (self.kind == "not_stated") != (self.answer == NOT_STATED):
            yield f"the answer must be {NOT_STATED!r} if and only if kind is not_stated"
        if self.kind == "words" and not contains(self.passage, self.answer):
            yield "the answer is not in the passage"


NOT_STATED = "not stated"
# Share of unanswerable questions. With equal shares, always answering "not stated" beats a model that answers: a step
# compiled that way rejected 25 of 25 good questions of a run.
_UNANSWERABLE = 0.2


def examples(source: Source) -> tuple[Rows, Rows]:
    """Return answerable questions with their correct answer, and some unanswerable ones, from labels and gold rows.

    Yes/no questions are excluded, because runs require answers in the words of the passage.
    """
    rows: Rows = []
    for label in source.questions:
        passage = plain(label.passage)
        correct = label.good and label.answer is not None and label.answer.label == "correct"
        if correct or label.reason == "unanswerable":
            answer = label.answer.text if correct and label.answer else NOT_STATED
            inputs = {"topic": label.topic, "passage": passage, "question": label.question}
            rows.append(example_row(label, passage, inputs, answer=answer))
    gold = [
        example_row(row, plain(row.passage), _inputs(row), answer=row.answer)
        for row in source.gold_of(AnswerGold)
        if row.kind != "yes_no"
    ]
    kept = balanced(without_repeats(rows, gold), lambda example: example.answer != NOT_STATED, others=_UNANSWERABLE)
    return kept, kept


def _inputs(row: AnswerGold) -> dict[str, str]:
    return {"topic": clean_topic(row.topic), "passage": plain(row.passage), "question": row.question}


def metric(example: dspy.Example, output: Any, judges: Judges) -> Scored:
    """Return the token F1 with the label, halved if the words are not in the passage.

    For unanswerable questions it is 1 for "not stated" and 0 for an answer.
    """
    language = judges.language_of(example)
    answer = tidy_answer(output.answer, example.question)
    if not language.is_stated(example.answer):
        stated = language.is_stated(answer)
        return Scored(0.0, f"The passage does not say it, yet the answer is {answer!r}.") if stated else Scored(1.0, "")
    if not language.is_stated(answer):
        return Scored(0.0, f"The passage answers it: {example.answer!r}.")
    value, feedback = agreement(answer, example.answer), ""
    if value < 1:
        feedback = f"The answer is {example.answer!r}, not {answer!r}."
    if not has_words(example.passage, answer):
        value, feedback = value * STRAY, f"{feedback} Copy the words of the passage.".strip()
    return Scored(value, feedback)


INSTRUCTIONS = (
    Instruction(
        r"does not say",
        "Answer only with words that the passage itself uses for exactly this question. If it asks for anything "
        'the passage does not tell, write "not stated".',
    ),
    Instruction(
        r"answers it",
        "The passage usually holds the answer: find the sentence that speaks of what the question asks and copy "
        'the words that answer it. Write "not stated" only if there is no such sentence.',
    ),
    Instruction(
        r"Copy the words|not '",
        "Copy the shortest words of the passage that answer the question: a name, a date, an amount, a phrase. No "
        'sentence. Write "not stated" if the passage does not say.',
    ),
)

FINETUNING = Finetuning.on_gold(
    AnswerGold, "answer", "Answer the question with words of the passage, or write: not stated", _inputs
)
COMPILING = Compiling(STEP, examples, metric, INSTRUCTIONS, deviation=0.43, finetuning=FINETUNING, gold=AnswerGold)
