"""Compiling the step ``question``: facts of good chunks, and questions that lead to the answer that was meant."""

import random
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

import dspy

from optimizers.gold_rows import GoldOfOneChunk, Kind, Question, Text, given_away, not_within
from optimizers.labels import ChunkLabel, QuestionLabel
from optimizers.steps.base import Compiling, Instruction, Judges, Rows, Scored, Source
from optimizers.steps.examples import answered, asked_once, example_row, good_chunks, of_gold, topic_once
from optimizers.steps.worth import meant_question_worth
from programs.focus import is_full_question
from programs.steps.question import STEP, seed_question
from programs.types import Focus


class QuestionGold(GoldOfOneChunk):
    """A question about one fact; ``before`` are up to two sentences before it, ``reply`` answers yes or no."""

    step: Literal["question"]
    topic: str
    before: str
    fact: Text
    answer: Text
    question: Question
    kind: Kind
    reply: Text | None = None

    def passage_in(self, texts: Mapping[str, str]) -> str:
        """Return the text of its chunk, what the row holds of it where that is not known."""
        return texts.get(self.chunk, self.fact)

    def _faults(self) -> Iterator[str]:
        yield from not_within(self.answer, self.fact)
        if self.kind != "yes_no":
            yield from given_away(self.answer, self.question)
        if (self.kind == "yes_no") != (self.reply is not None):
            yield "a yes_no question has a reply, any other has none"


_EACH = 2  # foci of a chunk
_OPENED = 0.25  # of the gold rows fix how the question begins, as a run often does
_LONG_WORD = 4  # letters; a longer first word is an opening by itself
_NEAR = 0.75  # share of the content words of a gold question that topic and fact must hold: others teach to invent


def _as_asked(source: Source) -> Iterator[tuple[QuestionLabel, str, Focus]]:
    """Yield good questions with the focus that a run would ask them about, with the opening that it would hand over.

    Those that it would not ask are left out where there is a parser for their language: their openings are others. So
    are those that the opening asks already: they would teach to copy.
    """
    for label, passage, focus in answered(source):
        if source.languages.syntax_of(source.languages.of(passage)) is None:
            yield label, passage, focus
            continue
        foci = _left_to_ask(source.foci(passage, label.topic))
        asked = [each for each in foci if each.answer == focus.answer and label.question.startswith(each.opening)]
        if asked:
            yield label, passage, asked[0]


def _left_to_ask(foci: Iterable[Focus]) -> list[Focus]:
    """Return the foci whose opening is no whole question: of the others nothing is left to the model."""
    return [focus for focus in foci if not is_full_question(focus) and not focus.defines]


def _of_gold(source: Source) -> Rows:
    """Return gold questions as a run would ask them, a quarter of them with their first words for an opening.

    Whether something is so or not is never asked: its answer is no part of the passage. Questions that go far from
    topic and fact are left out.
    """
    rows: Rows = []
    for row, passage in of_gold(source, QuestionGold):
        words_of = source.languages[row.language].content_words
        words, shown = set(words_of(row.question)), set(words_of(f"{row.fact} {row.topic}"))
        if row.kind == "yes_no" or len(words & shown) < _NEAR * max(1, len(words)):
            continue
        focus = Focus(sentence=row.fact, answer=row.answer)
        opening = _opening(row.question) if random.Random(row.id).random() < _OPENED else ""
        asked = {"topic": topic_once(row.topic), "fact": row.fact, "answer": row.answer, "opening": opening}
        rows.append(example_row(row, passage, asked, focus=focus, question=row.question))
    return rows


def _opening(question: str) -> str:
    words = question.split()
    return " ".join(words[: 1 if len(words[0]) > _LONG_WORD else 2])


def examples(source: Source) -> tuple[Rows, Rows]:
    """Return labelled and gold questions as a run would ask them, and what a run asks first about good chunks.

    All only where the opening leaves the model something to ask.
    """

    def asked(label: ChunkLabel | QuestionLabel, focus: Focus) -> dict[str, str]:
        return {"topic": label.topic, "fact": focus.fact, "answer": focus.answer, "opening": focus.opening}

    demos = [
        example_row(label, passage, asked(label, focus), focus=focus, question=label.question)
        for label, passage, focus in _as_asked(source)
    ]
    inputs = [
        example_row(label, passage, asked(label, focus), focus=focus, number=number)
        for label, passage, foci in good_chunks(source)
        for number, focus in enumerate(_left_to_ask(foci)[:_EACH])
    ]
    return asked_once(demos, _of_gold(source)), inputs


def worth(example: dspy.Example, output: Any, judges: Judges) -> Scored:
    """Return what the question that a run makes of the output is worth for its answer."""
    written = seed_question(output.question, example.focus, judges.language_of(example))
    return meant_question_worth(example, written, judges)


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

COMPILING = Compiling(STEP, examples, worth, INSTRUCTIONS, deviation=0.27, asks_model=True, gold=QuestionGold)
