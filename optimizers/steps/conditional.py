"""Compiling the step ``conditional``: good questions combined with a condition."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import dspy
from pydantic import Field

from optimizers.gold import Question, SingleChunkGold, Text, answer_not_in_fact, reveals_answer, unchanged
from optimizers.labels import QuestionLabel
from optimizers.steps.base import Compiling, Instruction, Judges, Rows, Scored, Source
from optimizers.steps.examples import answered_questions, clean_topic, example_row, gold_with_passages, without_repeats
from optimizers.steps.question import QuestionGold
from optimizers.steps.worth import score_question
from programs.conditions import condition_in
from programs.features import lost_words
from programs.languages.base import Language
from programs.steps.conditional import STEP
from programs.steps.question import tidy_question
from programs.text import has_words
from programs.types import Focus


class ConditionalGold(SingleChunkGold):
    """A question, and the same question under a condition that changes or narrows its answer to ``answer``."""

    step: Literal["conditional"]
    topic: str
    facts: tuple[Text, ...] = Field(min_length=1)
    question: Question
    condition: Text
    answer: Text
    conditional_question: Question

    def passage_in(self, texts: Mapping[str, str]) -> str:
        """Return the text of its chunk, or the facts of the row if that is unknown."""
        return texts.get(self.chunk, " ".join(self.facts))

    def _problems(self) -> Iterator[str]:
        yield from unchanged(self.question, self.conditional_question)
        yield from reveals_answer(self.conditional_question, self.answer)
        yield from answer_not_in_fact(self.answer, " ".join(self.facts))


_ADDED = 1  # content words that a gold question may add to its condition and plain question


def examples(source: Source) -> tuple[Rows, Rows]:
    """Return gold questions under a condition as demos, and good questions whose sentence states one as inputs."""
    demos: Rows = []
    for row, passage in gold_with_passages(source, ConditionalGold):
        if _is_composed(row, source.languages[row.language]):
            fields = {"topic": clean_topic(row.topic), "question": row.question, "condition": row.condition}
            demos.append(example_row(row, passage, fields, conditional_question=row.conditional_question))
    inputs: Rows = []
    questions: list[tuple[QuestionLabel | QuestionGold, str, Focus]] = [
        *answered_questions(source),
        *_gold_questions(source),
    ]
    for good, passage, focus in questions:
        if condition := condition_in(focus, good.question, source.languages.of(passage)):
            fields = {"topic": clean_topic(good.topic), "question": good.question, "condition": condition.text}
            inputs.append(example_row(good, passage, fields))
    return demos, without_repeats(inputs)


def _is_composed(row: ConditionalGold, language: Language) -> bool:
    """Return whether a gold question keeps the words of its condition and plain question, as the step must."""
    words_of = language.content_words
    required = {*words_of(row.question), *words_of(row.condition)}
    written = set(words_of(row.conditional_question))
    return has_words(" ".join(row.facts), row.condition) and required <= written and len(written - required) <= _ADDED


def _gold_questions(source: Source) -> Iterator[tuple[QuestionGold, str, Focus]]:
    """Yield gold questions in the form of :func:`answered_questions`."""
    for row, passage in gold_with_passages(source, QuestionGold):
        if row.kind != "yes_no":
            yield row, passage, Focus(sentence=row.fact, answer=row.answer)


def metric(example: dspy.Example, output: Any, judges: Judges) -> Scored:
    """Return the score of the question; 0 if it lost words of the condition or the seed question."""
    written = tidy_question(output.conditional_question)
    for name, text in (("condition", example.condition), ("question", example.question)):
        lost = lost_words(text, written, judges.language_of(example))
        if lost:
            return Scored(0.0, f"It lost words of the {name}: {', '.join(lost)}.")
    return score_question(example, written, judges)


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

COMPILING = Compiling(STEP, examples, metric, INSTRUCTIONS, deviation=0.34, gold=ConditionalGold)
