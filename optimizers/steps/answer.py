"""Compiling the step ``answer``: labelled questions, and answers that agree with the label."""

from collections.abc import Iterator
from typing import Any, Literal

import dspy

from optimizers.gold_rows import GoldOfOneChunk, Text, stands_in
from optimizers.steps.base import Compiling, Instruction, Judges, Rows, Scored, Source, Teaching, as_it_stands, only
from optimizers.steps.examples import asked_once, balanced, example_row, placed, topic_once
from optimizers.steps.worth import STRAY
from programs.features import agreement
from programs.steps.answer import STEP, tidy_answer
from programs.text import has_words, plain


class AnswerGold(GoldOfOneChunk):
    """The answer to a question: words of the passage, a reply to a yes_no question, or "not stated"."""

    step: Literal["answer"]
    topic: str
    passage: Text
    question: Text
    answer: Text
    kind: Literal["words", "yes_no", "not_stated"]

    def _faults(self) -> Iterator[str]:
        if (self.kind == "not_stated") != (self.answer == NOT_STATED):
            yield f"the answer of a not_stated question, and of no other, is {NOT_STATED!r}"
        if self.kind == "words" and not stands_in(self.answer, self.passage):
            yield "the answer does not stand in the passage"


NOT_STATED = "not stated"
# Few, because whoever always says "not stated" would else beat a model that answers: a step compiled on equal parts
# did so in a run, and refused 25 good questions of 25.
_UNANSWERABLE = 0.2


def examples(source: Source) -> tuple[Rows, Rows]:
    """Return questions with their correct answer, and some that the passage does not answer.

    Gold rows stand beside labels, those that are answered yes or no left out: a run wants words of the passage.
    """
    rows: Rows = []
    for label in source.questions:
        passage = plain(label.passage)
        correct = label.good and label.answer is not None and label.answer.label == "correct"
        if correct or label.reason == "unanswerable":
            answer = label.answer.text if correct and label.answer else NOT_STATED
            asked = {**placed(label, passage), "question": label.question}
            rows.append(example_row(label, passage, asked, answer=answer))
    gold = [
        example_row(row, plain(row.passage), _shown(row), answer=row.answer)
        for row in source.gold_of(AnswerGold)
        if row.kind != "yes_no"
    ]
    found = balanced(asked_once(rows, gold), lambda example: example.answer != NOT_STATED, others=_UNANSWERABLE)
    return found, found


def _shown(row: AnswerGold) -> dict[str, str]:
    return {"topic": topic_once(row.topic), "passage": plain(row.passage), "question": row.question}


def worth(example: dspy.Example, output: Any, judges: Judges) -> Scored:
    """Return the token F1 with the label, halved if the words do not stand in the passage.

    Where the label says that the passage does not answer the question: 1 for saying so, 0 for an answer.
    """
    language = judges.language_of(example)
    found = tidy_answer(output.answer, example.question)
    if not language.is_stated(example.answer):
        stated = language.is_stated(found)
        return Scored(0.0, f"The passage does not say it, yet the answer is {found!r}.") if stated else Scored(1.0, "")
    if not language.is_stated(found):
        return Scored(0.0, f"The passage answers it: {example.answer!r}.")
    value, feedback = agreement(found, example.answer), ""
    if value < 1:
        feedback = f"The answer is {example.answer!r}, not {found!r}."
    if not has_words(example.passage, found):
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

TEACHING = Teaching(
    ("answer",),
    only(AnswerGold),
    "Answer the question with words of the passage, or write: not stated",
    as_it_stands(_shown),
)
COMPILING = Compiling(STEP, examples, worth, INSTRUCTIONS, deviation=0.43, teaching=TEACHING, gold=AnswerGold)
