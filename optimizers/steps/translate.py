"""Compiling the step ``translate``: questions with their answers, and their translations."""

from collections.abc import Iterator
from typing import Any, Literal

import dspy

from optimizers.gold import SingleChunkGold, Text
from optimizers.steps.base import Compiling, Instruction, Judges, Rows, Scored, Source
from optimizers.steps.examples import example_row
from programs.features import agreement
from programs.language_detection import language_of
from programs.languages.names import name_of
from programs.steps.translate import STEP, lines_of, translation_problem

_CLOSE = 0.5  # the token F1 of translations that differ only in their words


class TranslateGold(SingleChunkGold):
    """Lines of a prompt and their translation; ``language`` is that of the translation."""

    step: Literal["translate"]
    into: Text
    text: Text
    translation: Text

    def _problems(self) -> Iterator[str]:
        if self.into != name_of(self.language):
            yield f"into {self.into} is not the name of the language {self.language}"
        if problem := _problem(self.text, self.translation, self.language):
            yield f"the translation is wrong: {problem}"


def examples(source: Source) -> tuple[Rows, Rows]:
    """Return the texts of gold rows with their translation."""
    rows = [
        example_row(row, row.text, {"into": row.into, "text": row.text}, translation=row.translation)
        for row in source.gold_of(TranslateGold)
    ]
    return rows, rows


def metric(example: dspy.Example, output: Any, judges: Judges) -> Scored:
    """Return the token F1 with the gold translation; 0 for lost numbers or quotes, other lines or another language."""
    del judges
    if problem := _problem(example.text, output.translation, example.language):
        return Scored(0.0, f"The translation is wrong: {problem}.")
    value = agreement(output.translation, example.translation)
    return Scored(value, "" if value > _CLOSE else f"A good translation is: {example.translation}")


def _problem(text: str, translation: str, language: str) -> str:
    return translation_problem(lines_of(text), lines_of(translation), language, language_of(text))


INSTRUCTIONS = (
    Instruction(
        r"lines instead|lost",
        "Translate each line of the text into one line, in the same order. Copy numbers and words in double quotes. "
        "Write no line that the text does not have.",
    ),
    Instruction(
        r"not in|good translation",
        "Translate the text into the language that is named, as a native speaker would say it. Keep every number, "
        "unit, date and proper name.",
    ),
)

COMPILING = Compiling(STEP, examples, metric, INSTRUCTIONS, deviation=0.25, gold=TranslateGold)
