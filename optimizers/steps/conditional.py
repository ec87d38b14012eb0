"""Compiling the step ``conditional``: good questions with a condition, and both put together without loss."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import dspy
from pydantic import Field

from optimizers.gold_rows import GoldOfOneChunk, Question, Text, given_away, not_within, unchanged
from optimizers.labels import QuestionLabel
from optimizers.steps.base import Compiling, Instruction, Judges, Rows, Scored, Source
from optimizers.steps.examples import answered, asked_once, example_row, of_gold, topic_once
from optimizers.steps.question import QuestionGold
from optimizers.steps.worth import question_worth
from programs.conditions import condition_in
from programs.features import lost_words
from programs.languages.base import Language
from programs.steps.conditional import STEP
from programs.steps.question import tidy_question
from programs.text import has_words
from programs.types import Focus


class ConditionalGold(GoldOfOneChunk):
    """A question, and the same under a condition that changes or narrows its answer to ``answer``."""

    step: Literal["conditional"]
    topic: str
    facts: tuple[Text, ...] = Field(min_length=1)
    question: Question
    condition: Text
    answer: Text
    conditional_question: Question

    def passage_in(self, texts: Mapping[str, str]) -> str:
        """Return the text of its chunk, what the row holds of it where that is not known."""
        return texts.get(self.chunk, " ".join(self.facts))

    def _faults(self) -> Iterator[str]:
        yield from unchanged(self.question, self.conditional_question)
        yield from given_away(self.answer, self.conditional_question)
        yield from not_within(self.answer, " ".join(self.facts))


_ADDED = 1  # content words of a gold question that neither its condition nor its plain question has


def examples(source: Source) -> tuple[Rows, Rows]:
    """Return gold questions under a condition, and good ones to try on whose sentence states one, as in a run."""
    demos: Rows = []
    for row, passage in of_gold(source, ConditionalGold):
        if _is_composed(row, source.languages[row.language]):
            asked = {"topic": topic_once(row.topic), "question": row.question, "condition": row.condition}
            demos.append(example_row(row, passage, asked, conditional_question=row.conditional_question))
    inputs: Rows = []
    asked_of: list[tuple[QuestionLabel | QuestionGold, str, Focus]] = [*answered(source), *_gold_questions(source)]
    for good, passage, focus in asked_of:
        if condition := condition_in(focus, good.question, source.languages.of(passage)):
            asked = {"topic": topic_once(good.topic), "question": good.question, "condition": condition.text}
            inputs.append(example_row(good, passage, asked))
    return demos, asked_once(inputs)


def _is_composed(row: ConditionalGold, language: Language) -> bool:
    """Return whether a gold row is what the step is asked for: a condition in the words of its facts, put to the
    question without loss. The others ask something else, which the condition has for an answer of its own."""
    words_of = language.content_words
    given = {*words_of(row.question), *words_of(row.condition)}
    written = set(words_of(row.conditional_question))
    return has_words(" ".join(row.facts), row.condition) and given <= written and len(written - given) <= _ADDED


def _gold_questions(source: Source) -> Iterator[tuple[QuestionGold, str, Focus]]:
    """Yield gold questions as :func:`answered` does labelled ones."""
    for row, passage in of_gold(source, QuestionGold):
        if row.kind != "yes_no":
            yield row, passage, Focus(sentence=row.fact, answer=row.answer)


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

COMPILING = Compiling(STEP, examples, worth, INSTRUCTIONS, deviation=0.34, gold=ConditionalGold)
