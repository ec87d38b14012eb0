"""Compiling the step ``compress``: long questions, and shorter ones that still ask the same."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import dspy

from optimizers.gold_rows import GoldOfOneChunk, Question
from optimizers.steps.base import Compiling, Instruction, Judges, Rows, Scored, Source, Teaching, as_it_stands, only
from optimizers.steps.examples import asked_once, example_row, of_gold
from optimizers.steps.worth import question_worth
from programs.features import lost_words
from programs.steps.compress import SHORT_WORDS, STEP
from programs.steps.question import tidy_question
from programs.text import plain, tokens


class CompressGold(GoldOfOneChunk):
    """A long question and a short one that asks the same."""

    step: Literal["compress"]
    question: Question
    short_question: Question

    def passage_in(self, texts: Mapping[str, str]) -> str:
        """Return the text of its chunk, what the row holds of it where that is not known."""
        return texts.get(self.chunk, "")

    def _faults(self) -> Iterator[str]:
        if 4 * len(self.short_question) > 3 * len(self.question):
            yield "the short question is hardly shorter"


_LONG = SHORT_WORDS - 4  # labelled questions are short: those a little below the limit are shortened too


def examples(source: Source) -> tuple[Rows, Rows]:
    """Return gold questions with their short form, and these with the long ones among the good questions of labels."""
    long = [label for label in source.questions if label.good and len(tokens(label.question)) > _LONG]
    demos = [
        example_row(row, passage, _shown(row), short_question=row.short_question)
        for row, passage in of_gold(source, CompressGold)
    ]
    labelled = [example_row(label, plain(label.passage), {"question": label.question}) for label in long]
    return demos, asked_once(demos, labelled)


def _shown(row: CompressGold) -> dict[str, str]:
    return {"question": row.question}


def worth(example: dspy.Example, output: Any, judges: Judges) -> Scored:
    """Return the critic's probability that the question is good; 0 if it is no shorter or lost what it asks."""
    written = tidy_question(output.short_question)
    if len(written) >= len(example.question):
        return Scored(0.0, "It is no shorter than the question that was given.")
    if lost := lost_words(example.question, written, judges.language_of(example)):
        return Scored(0.0, f"It lost what the question asks: {', '.join(lost)}.")
    return question_worth(example, written, judges)


INSTRUCTIONS = (
    Instruction(
        r"no shorter",
        "Say the question in at most twelve words. Drop what the asker need not say; keep names and numbers.",
    ),
    Instruction(
        r"lost",
        "Shorten the question a little: leave out filler such as was it that, in order to, of the following. Keep "
        "every name, number and condition as it stands.",
    ),
    Instruction(
        r"well formed|well-formed",
        "Write the question as a person would type it into a search box, short and correct.",
    ),
)

TEACHING = Teaching(("compress",), only(CompressGold), "Ask the same in fewer words.", as_it_stands(_shown))
COMPILING = Compiling(STEP, examples, worth, INSTRUCTIONS, deviation=0.34, teaching=TEACHING, gold=CompressGold)
