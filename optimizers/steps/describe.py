"""Compiling the step ``describe``: names in facts, and phrases that replace them."""

import re
from collections.abc import Iterator
from typing import Any, Literal

import dspy

from optimizers.gold import SingleChunkGold, Text
from optimizers.steps.base import Compiling, Instruction, Judges, Rows, Scored, Source
from optimizers.steps.examples import example_row
from programs.features import agreement
from programs.steps.describe import STEP, tidy_phrase
from programs.text import has_words, tokens


class DescribeGold(SingleChunkGold):
    """A name in a fact, and a phrase in the words of the fact that can replace the name."""

    step: Literal["describe"]
    topic: str
    fact: Text
    name: Text
    phrase: Text

    def _problems(self) -> Iterator[str]:
        if self.name not in self.fact:
            yield "the name is not in the fact"
        if has_words(self.phrase, self.name):
            yield f"the phrase contains the name: {self.phrase}"


_MOST_WORDS = 25


def examples(source: Source) -> tuple[Rows, Rows]:
    """Return the names of gold rows with their phrases."""
    rows = [
        example_row(row, row.fact, {"fact": row.fact, "name": row.name}, phrase=row.phrase)
        for row in source.gold_of(DescribeGold)
    ]
    return rows, rows


def metric(example: dspy.Example, output: Any, judges: Judges) -> Scored:
    """Return the mean of the share of its content words that are in the fact and the token F1 with the gold phrase.

    One content word need not be in the fact: the class of the named thing. Empty outputs, sentences, phrases of more
    than 25 words and phrases with a word of the name score 0.
    """
    phrase = tidy_phrase(str(output.phrase))
    if not phrase:
        return Scored(0.0, "It wrote nothing.")
    part = next((word for word in tokens(example.name) if len(word) > 3 and has_words(phrase, word)), "")
    if part:
        return Scored(0.0, f"It holds a word of the name: {part}.")
    if len(tokens(phrase)) > _MOST_WORDS or re.search(r"[.?!]\s", phrase):
        return Scored(0.0, "It is a sentence and no phrase.")
    language = judges.language_of(example)
    written, fact = set(language.content_words(phrase)), set(language.content_words(example.fact))
    stray = [word for word in dict.fromkeys(tokens(phrase)) if language.stem(word) in written - fact]
    share = 1 - max(0, len(stray) - 1) / max(1, len(written))
    feedback = [] if len(stray) < 2 else [f"The fact does not speak of {', '.join(stray)}."]
    if len(written & fact) < 2:
        share, feedback = 0.0, [*feedback, "It says nothing of the fact that tells the thing from others."]
    return Scored((share + agreement(phrase, example.phrase)) / 2, " ".join(feedback))


INSTRUCTIONS = (
    Instruction(
        r"word of the name|no phrase",
        "Write a noun phrase: what kind of thing it is, then what the fact says of it. Leave out the name and all its "
        "words.",
    ),
    Instruction(
        r"does not speak|says nothing",
        "Take the words of the fact. Turn it into a phrase that begins with the kind of thing: the town where, the "
        "engineer who, the law that.",
    ),
)

COMPILING = Compiling(STEP, examples, metric, INSTRUCTIONS, deviation=0.25, gold=DescribeGold)
