"""Compiling the step ``reword``: questions in several styles."""

from collections.abc import Iterator
from typing import Any, Literal

import dspy

from optimizers.gold import Question, SearchedChunkGold, Text, reveals_answer, unchanged
from optimizers.steps.base import Compiling, Instruction, Judges, Rows, Scored, Source
from optimizers.steps.examples import clean_topic, example_row, gold_with_passages
from optimizers.steps.worth import score_question
from programs.evolutions import EVOLUTIONS
from programs.steps.question import tidy_question
from programs.steps.reword import PERSONA, STEP, Style, wording_fault

_STYLES = {name: row.style for name, row in EVOLUTIONS.items() if row.style is not None}


class RewordGold(SearchedChunkGold):
    """A question and its wording in the style of an evolution, which is its ``kind``."""

    step: Literal["reword"]
    kind: Literal["conversational", "terse", "detailed", "persona", "like"]
    topic: str
    question: Question
    answer: Text
    persona: str = ""
    examples: tuple[Text, ...] = ()
    wording: Text

    @property
    def style(self) -> Style:
        """Return the style of the wording."""
        return _STYLES[self.kind]

    def _problems(self) -> Iterator[str]:
        yield from unchanged(self.question, self.wording)
        yield from reveals_answer(self.wording, self.answer)
        if bool(self.persona) != self.style.has_persona or bool(self.examples) != self.style.shows_examples:
            yield f"persona and examples must be those that the style {self.kind} needs"


def examples(source: Source) -> tuple[Rows, Rows]:
    """Return the gold questions with their wordings."""
    rows: Rows = []
    for row, passage in gold_with_passages(source, RewordGold):
        inputs = {
            "topic": clean_topic(row.topic),
            "question": row.question,
            "style": row.style.text.replace(PERSONA, row.persona),
            "examples": list(row.examples),
        }
        more: dict[str, Any] = row.model_dump(include={"answer", "kind", "persona", "wording"})
        rows.append(example_row(row, passage, inputs, **more))
    return rows, rows


def metric(example: dspy.Example, output: Any, judges: Judges) -> Scored:
    """Return the score of the wording as a question, or by its rank where a style has no full questions.

    It is 0 if the rules of a run refuse it.
    """
    style, wording = _STYLES[example.kind], tidy_question(output.wording)
    problem = wording_fault(
        style,
        judges.language_of(example),
        example.question,
        wording,
        example.answer,
        topic=example.topic,
        passage=example.passage,
        persona=example.persona,
    )
    if problem is not None:
        return Scored(0.0, f"{problem[:1].upper()}{problem[1:]}.")
    if style.is_question:
        return score_question(example, wording, judges)
    rank = judges.rank(wording, example.passage)
    if rank == 1:
        return Scored(1.0, "")
    found_as = "not among the first" if rank is None else f"number {rank}"
    return Scored(1 / rank if rank else 0.0, f"Searching for it finds its passage as {found_as}.")


INSTRUCTIONS = (
    Instruction(
        r"lost|changes numbers",
        "Write the question in the given style and copy every name and every number of it as they stand. Whoever reads "
        "only your wording must ask for the same thing.",
    ),
    Instruction(
        r"words, |no question|no other wording",
        "Follow the style to the letter: its number of words, its tone, and whether it wants a full question. Do not "
        "repeat the question as it is.",
    ),
    Instruction(
        r"from elsewhere|gives its answer away",
        "Change only how the question is put. Add nothing that it does not say, above all no names and no answer.",
    ),
)

COMPILING = Compiling(STEP, examples, metric, INSTRUCTIONS, deviation=0.35, gold=RewordGold)
