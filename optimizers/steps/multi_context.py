"""Compiling the step ``multi_context``: gold comparisons of facts of several chunks."""

from collections.abc import Iterator
from typing import Any, Literal

import dspy
from pydantic import Field

from optimizers.gold_rows import GoldOfSeveralChunks, Question, Text, given_away
from optimizers.steps.base import Compiling, Instruction, Judges, Rows, Scored, Source
from optimizers.steps.examples import example_row, topic_once
from optimizers.steps.worth import NEARLY
from programs.steps.multi_context import STEP
from programs.steps.question import tidy_question
from programs.text import plain


class MultiGold(GoldOfSeveralChunks):
    """A question that needs all of its facts, one of each chunk; ``gives`` says what each contributes."""

    step: Literal["multi_context"]
    topic: str
    facts: tuple[Text, ...] = Field(min_length=2, max_length=3)
    gives: tuple[Text, ...]
    compare: str = ""
    answer: Text
    question: Question
    kind: Literal["bridge", "comparison"]

    def _faults(self) -> Iterator[str]:
        if not len(self.facts) == len(self.gives) == len(set(self.chunks)) == len(self.chunks):
            yield "facts, gives and chunks are one of each for every chunk"
        if (self.kind == "comparison") != bool(self.compare):
            yield "a comparison says how it compares, a bridge does not"
        if self.kind == "bridge":
            yield from given_away(self.answer, self.question)


def examples(source: Source) -> tuple[Rows, Rows]:
    """Return the comparisons of gold rows with their chunks, to be shown and to try on."""
    rows: Rows = []
    for row in source.gold_of(MultiGold):
        if row.kind != "comparison":
            continue
        passages = [plain(source.texts.get(chunk, fact)) for chunk, fact in zip(row.chunks, row.facts, strict=True)]
        topic = " | ".join(topic_once(part.strip()) for part in row.topic.split("|"))
        asked: dict[str, Any] = {"topic": topic, "facts": list(row.facts), "compare": row.compare, "answer": row.answer}
        rows.append(example_row(row, "\n\n".join(passages), asked, question=row.question))
    return rows, rows


def worth(example: dspy.Example, output: Any, judges: Judges) -> Scored:
    """Return 0.5 to 1 for a question that the critic finds good on all chunks and that names what each fact is about,
    less than 0.25 for another; 0 for none.
    """
    written = tidy_question(output.question)
    if not written.endswith("?"):
        return Scored(0.0, f"{written[:60]!r} is no question." if written else "It wrote nothing.")
    language = judges.language_of(example)
    asked = set(language.content_words(written))
    topics = example.topic.split(" | ")
    things = [f"{topic} {fact}" for topic, fact in zip(topics, example.facts, strict=False)]
    unnamed = [place for place, thing in enumerate(things, 1) if not asked & set(language.content_words(thing))]
    decision = judges.judge(example.passage, written)
    if unnamed:
        return Scored(decision.probability * NEARLY, f"It names nothing of fact {unnamed[0]}.")
    if not decision.good:
        return Scored(decision.probability * NEARLY, f"The critic finds it not {decision.weakest}.")
    return Scored((1 + decision.probability) / 2, "")


INSTRUCTIONS = (
    Instruction(
        r"names nothing|no question",
        "Ask which one: name the thing of every fact in full, as its topic calls it, and end with a question mark.",
    ),
    Instruction(
        r"critic",
        "Say what is compared in the words of the facts, and nothing that only one of them has. A stranger must "
        "understand the question without the facts.",
    ),
)

COMPILING = Compiling(STEP, examples, worth, INSTRUCTIONS, deviation=0.3, gold=MultiGold)
