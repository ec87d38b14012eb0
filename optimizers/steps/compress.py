"""Compiling the step ``compress``: long questions and shorter equivalents."""

from collections.abc import Iterator
from typing import Any, Literal

import dspy

from optimizers.gold import Question, SearchedChunkGold
from optimizers.steps.base import Compiling, Finetuning, Instruction, Judges, Rows, Scored, Source
from optimizers.steps.examples import example_row, gold_with_passages, without_repeats
from optimizers.steps.worth import score_question
from programs.features import lost_words
from programs.steps.compress import SHORT_WORDS, STEP
from programs.steps.question import tidy_question
from programs.text import plain, tokens


class CompressGold(SearchedChunkGold):
    """A long question and a shorter equivalent."""

    step: Literal["compress"]
    question: Question
    short_question: Question

    def _problems(self) -> Iterator[str]:
        if 4 * len(self.short_question) > 3 * len(self.question):
            yield "the short question must be at least a quarter shorter"


_LONG = SHORT_WORDS - 4  # few labelled questions exceed the limit, so slightly shorter ones are used too


def examples(source: Source) -> tuple[Rows, Rows]:
    """Return gold questions with their short form as demos; inputs also include long labelled good questions."""
    long = [label for label in source.questions if label.good and len(tokens(label.question)) > _LONG]
    demos = [
        example_row(row, passage, _inputs(row), short_question=row.short_question)
        for row, passage in gold_with_passages(source, CompressGold)
    ]
    labelled = [example_row(label, plain(label.passage), {"question": label.question}) for label in long]
    return demos, without_repeats(demos, labelled)


def _inputs(row: CompressGold) -> dict[str, str]:
    return {"question": row.question}


def metric(example: dspy.Example, output: Any, judges: Judges) -> Scored:
    """Return the score of the short question; 0 if it is not shorter or lost content words."""
    written = tidy_question(output.short_question)
    if len(written) >= len(example.question):
        return Scored(0.0, "It is no shorter than the question that was given.")
    if lost := lost_words(example.question, written, judges.language_of(example)):
        return Scored(0.0, f"It lost what the question asks: {', '.join(lost)}.")
    return score_question(example, written, judges)


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

FINETUNING = Finetuning.on_gold(CompressGold, "compress", "Ask the same in fewer words.", _inputs)
COMPILING = Compiling(STEP, examples, metric, INSTRUCTIONS, deviation=0.34, finetuning=FINETUNING, gold=CompressGold)
