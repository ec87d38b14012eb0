"""Compiling the step ``multi_context``: gold comparisons of facts from several chunks."""

from collections.abc import Iterator
from typing import Any, Literal

import dspy
from pydantic import Field

from optimizers.gold import MultiChunkGold, Question, Text, reveals_answer
from optimizers.steps.base import Compiling, Instruction, Judges, Rows, Scored, Source
from optimizers.steps.examples import clean_topic, example_row
from optimizers.steps.worth import score_verdict
from programs.steps.multi_context import STEP
from programs.steps.question import tidy_question
from programs.text import plain


class MultiContextGold(MultiChunkGold):
    """A question that needs all of its facts, one from each chunk; ``gives`` names the contribution of each."""

    step: Literal["multi_context"]
    topic: str
    facts: tuple[Text, ...] = Field(min_length=2, max_length=3)
    gives: tuple[Text, ...]
    compare: str = ""
    answer: Text
    question: Question
    kind: Literal["bridge", "comparison"]

    def _problems(self) -> Iterator[str]:
        if not len(self.facts) == len(self.gives) == len(set(self.chunks)) == len(self.chunks):
            yield "facts, gives and chunks must have one entry per chunk, without repeated chunks"
        if (self.kind == "comparison") != bool(self.compare):
            yield "compare must be set if kind is comparison and empty if it is bridge"
        if self.kind == "bridge":
            yield from reveals_answer(self.question, self.answer)


def examples(source: Source) -> tuple[Rows, Rows]:
    """Return the comparisons of gold rows with their chunks."""
    rows: Rows = []
    for row in source.gold_of(MultiContextGold):
        if row.kind != "comparison":
            continue
        passages = [plain(source.texts.get(chunk, fact)) for chunk, fact in zip(row.chunks, row.facts, strict=True)]
        topic = " | ".join(clean_topic(part.strip()) for part in row.topic.split("|"))
        inputs: dict[str, Any] = {
            "topic": topic,
            "facts": list(row.facts),
            "compare": row.compare,
            "answer": row.answer,
        }
        rows.append(example_row(row, "\n\n".join(passages), inputs, question=row.question))
    return rows, rows


def metric(example: dspy.Example, output: Any, judges: Judges) -> Scored:
    """Return 0.5 to 1 for a question that the critic accepts and that names the subject of each fact, else up to 0.25.

    It is 0 if there is no question.
    """
    written = tidy_question(output.question)
    if not written.endswith("?"):
        return Scored(0.0, f"{written[:60]!r} is no question." if written else "It wrote nothing.")
    language = judges.language_of(example)
    words = set(language.content_words(written))
    topics = example.topic.split(" | ")
    subjects = [f"{topic} {fact}" for topic, fact in zip(topics, example.facts, strict=False)]
    unnamed = [index for index, text in enumerate(subjects, 1) if not words & set(language.content_words(text))]
    problem = f"It names nothing of fact {unnamed[0]}." if unnamed else ""
    return score_verdict(judges.judge(example.passage, written), problem)


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

COMPILING = Compiling(STEP, examples, metric, INSTRUCTIONS, deviation=0.3, gold=MultiContextGold)
