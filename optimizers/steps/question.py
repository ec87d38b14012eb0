"""Compiling the step ``question``: facts of good chunks, and questions with the given answer."""

import random
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

import dspy

from optimizers.gold import Kind, Question, SingleChunkGold, Text, answer_not_in_fact, reveals_answer
from optimizers.labels import ChunkLabel, QuestionLabel
from optimizers.steps.base import Compiling, Instruction, Judges, Rows, Scored, Source
from optimizers.steps.examples import (
    answered_questions,
    clean_topic,
    example_row,
    gold_with_passages,
    good_chunks,
    without_repeats,
)
from optimizers.steps.worth import score_question_for_answer
from programs.focus import is_full_question
from programs.steps.question import STEP, seed_question
from programs.types import Focus


class QuestionGold(SingleChunkGold):
    """A question about one fact; ``before`` holds up to two preceding sentences, ``reply`` answers yes or no."""

    step: Literal["question"]
    topic: str
    before: str
    fact: Text
    answer: Text
    question: Question
    kind: Kind
    reply: Text | None = None

    def passage_in(self, texts: Mapping[str, str]) -> str:
        """Return the text of its chunk, or the fact if that is unknown."""
        return texts.get(self.chunk, self.fact)

    def _problems(self) -> Iterator[str]:
        yield from answer_not_in_fact(self.answer, self.fact)
        if self.kind != "yes_no":
            yield from reveals_answer(self.question, self.answer)
        if (self.kind == "yes_no") != (self.reply is not None):
            yield "reply must be set if and only if kind is yes_no"


_FOCI = 2  # per chunk
_OPENED = 0.25  # share of gold rows with a fixed opening, as in a run
_LONG_WORD = 4  # letters; a longer first word alone is an opening
_NEAR = 0.75  # least share of content words in topic and fact; other questions would teach to invent


def _labelled_questions(source: Source) -> Iterator[tuple[QuestionLabel, str, Focus]]:
    """Yield labelled good questions with the focus and opening that a run would use.

    If there is a parser for the language, questions that do not match a focus of a run are excluded, and those whose
    opening is already the full question: they would teach copying.
    """
    for label, passage, focus in answered_questions(source):
        if source.languages.syntax_of(source.languages.of(passage)) is None:
            yield label, passage, focus
            continue
        foci = _open_foci(source.foci(passage, label.topic))
        matching = [each for each in foci if each.answer == focus.answer and label.question.startswith(each.opening)]
        if matching:
            yield label, passage, matching[0]


def _open_foci(foci: Iterable[Focus]) -> list[Focus]:
    """Return the foci whose opening is not already the full question."""
    return [focus for focus in foci if not is_full_question(focus) and not focus.defines]


def _gold_questions(source: Source) -> Rows:
    """Return gold questions, a random quarter of them with their first words as the opening.

    Excluded are yes/no questions, whose answers are not in the passage, and questions with too many words that are not
    in topic and fact.
    """
    rows: Rows = []
    for row, passage in gold_with_passages(source, QuestionGold):
        words_of = source.languages[row.language].content_words
        words, known = set(words_of(row.question)), set(words_of(f"{row.fact} {row.topic}"))
        if row.kind == "yes_no" or len(words & known) < _NEAR * max(1, len(words)):
            continue
        focus = Focus(sentence=row.fact, answer=row.answer)
        opening = _opening(row.question) if random.Random(row.id).random() < _OPENED else ""
        inputs = {"topic": clean_topic(row.topic), "fact": row.fact, "answer": row.answer, "opening": opening}
        rows.append(example_row(row, passage, inputs, focus=focus, question=row.question))
    return rows


def _opening(question: str) -> str:
    words = question.split()
    return " ".join(words[: 1 if len(words[0]) > _LONG_WORD else 2])


def examples(source: Source) -> tuple[Rows, Rows]:
    """Return labelled and gold questions as demos, and the first foci of good chunks as inputs."""

    def inputs_of(label: ChunkLabel | QuestionLabel, focus: Focus) -> dict[str, str]:
        return {"topic": label.topic, "fact": focus.fact, "answer": focus.answer, "opening": focus.opening}

    demos = [
        example_row(label, passage, inputs_of(label, focus), focus=focus, question=label.question)
        for label, passage, focus in _labelled_questions(source)
    ]
    inputs = [
        example_row(label, passage, inputs_of(label, focus), focus=focus, number=number)
        for label, passage, foci in good_chunks(source)
        for number, focus in enumerate(_open_foci(foci)[:_FOCI])
    ]
    return without_repeats(demos, _gold_questions(source)), inputs


def metric(example: dspy.Example, output: Any, judges: Judges) -> Scored:
    """Return the score of the question, post-processed as in a run, for its answer."""
    written = seed_question(output.question, example.focus, judges.language_of(example))
    return score_question_for_answer(example, written, judges)


INSTRUCTIONS = (
    Instruction(
        r"name the subject|pronoun|names nothing|points at",
        "Write one question whose answer is exactly the given answer. Take the subject's full name from the topic "
        "or the fact. Never write it, he, she, they, this passage or this text.",
    ),
    Instruction(
        r"well formed|well-formed|question word|no question",
        "Write one short, correct question that opens with a question word. Its answer is exactly the given "
        "answer, and it names its subject in full.",
    ),
    Instruction(
        r"gives its answer away",
        "Hide the given answer and ask for it. The question names everything else that the fact says, so that "
        "only the answer is missing.",
    ),
    Instruction(
        r"another kind",
        "Look at the answer first: ask who for a person, when or in which year for a time, where for a place, how "
        "many or how much for an amount, what or which for anything else. Name the subject in full.",
    ),
    Instruction(
        r"Searching",
        "Write a quiz question that can have only one answer, the given one. Name the subject in full and one more "
        "detail of the fact that belongs to nothing else.",
    ),
)

COMPILING = Compiling(STEP, examples, metric, INSTRUCTIONS, deviation=0.27, asks_model=True, gold=QuestionGold)
