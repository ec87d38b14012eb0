"""Compiling the step ``keyphrases``: good chunks, and phrases that stand in them word for word."""

from collections.abc import Iterator
from typing import Any, Literal

import dspy
from pydantic import Field

from optimizers.gold_rows import GoldOfOneChunk, Text, stands_in
from optimizers.steps.base import Compiling, Instruction, Judges, Rows, Scored, Source, Teaching, as_it_stands, only
from optimizers.steps.examples import example_row, good_chunks, placed, topic_once
from optimizers.steps.worth import STRAY
from programs.languages.base import Language
from programs.steps.keyphrases import STEP
from programs.text import has_words, plain, tokens


class KeyphrasesGold(GoldOfOneChunk):
    """Three to five phrases of a passage that are answers to good questions, the best first."""

    step: Literal["keyphrases"]
    topic: str
    passage: Text
    keyphrases: tuple[Text, ...] = Field(min_length=3, max_length=5)

    def _faults(self) -> Iterator[str]:
        for place, phrase in enumerate(self.keyphrases):
            if not stands_in(phrase, self.passage):
                yield f"no phrase of the passage: {phrase}"
            if any(phrase in other for other in self.keyphrases[:place] + self.keyphrases[place + 1 :]):
                yield f"a phrase that stands in another one: {phrase}"


_PHRASES = range(3, 6)
_LONGEST = 6  # words of a phrase; more are a sentence


def examples(source: Source) -> tuple[Rows, Rows]:
    """Return the passages of gold rows with their phrases, and these with good chunks to try on."""
    demos: Rows = []
    for row in source.gold_of(KeyphrasesGold):
        asked = _shown(row)
        demos.append(example_row(row, asked["passage"], asked, keyphrases=list(row.keyphrases)))
    shown = {example.passage for _, example in demos}
    labelled = [
        example_row(label, passage, placed(label, passage))
        for label, passage, _ in good_chunks(source)
        if passage not in shown
    ]
    return demos, [*demos, *labelled]


def _shown(row: KeyphrasesGold) -> dict[str, str]:
    return {"topic": topic_once(row.topic), "passage": plain(row.passage)}


def worth(example: dspy.Example, output: Any, judges: Judges) -> Scored:
    """Return the share of phrases that stand in the passage word for word, once each, less one third for each of
    three that are lacking.

    A phrase of one plain word counts half, one that says nothing or is a whole sentence counts nothing, and one that is
    part of another counts as a repetition.
    """
    language = judges.language_of(example)
    phrases = [str(phrase) for phrase in output.keyphrases]
    distinct = list({phrase.casefold(): phrase for phrase in phrases}.values())
    distinct = [
        phrase for phrase in distinct if not any(phrase != other and has_words(other, phrase) for other in distinct)
    ]
    stated = [phrase for phrase in distinct if phrase in example.passage and has_words(example.passage, phrase)]
    if not phrases:
        return Scored(0.0, "It names no phrase.")
    worths = {phrase: _phrase_worth(phrase, language) for phrase in stated}
    counted = sum(worths.values())
    value = counted / len(phrases) * min(1.0, counted / _PHRASES.start)
    lost = [phrase for phrase in distinct if phrase not in stated]
    feedback = [f"Not in the passage word for word: {'; '.join(lost)}."] if lost else []
    if empty := [phrase for phrase, each in worths.items() if not each]:
        feedback.append(f"No name, date, amount or term: {'; '.join(empty)}.")
    if len(distinct) < len(phrases):
        feedback.append("It names a phrase twice.")
    if len(phrases) not in _PHRASES:
        feedback.append(f"It names {len(phrases)} phrases; three to five are wanted.")
    return Scored(value, " ".join(feedback))


def _phrase_worth(phrase: str, language: Language) -> float:
    """Return 1 for what a question may be about, :data:`STRAY` for one plain word, 0 for stop words and sentences."""
    carried = language.content_words(phrase)
    if not carried or len(tokens(phrase)) > _LONGEST:
        return 0.0
    return 1.0 if len(carried) > 1 or not phrase.islower() else STRAY


INSTRUCTIONS = (
    Instruction(
        r"word for word|No name",
        "Copy three to five short phrases from the passage exactly as they stand, separated by semicolons. Choose "
        "names, dates, amounts and technical terms.",
    ),
    Instruction(
        r"phrases; three",
        "Write exactly four phrases of the passage, separated by semicolons. Each is a name, a date, an amount or "
        "a technical term of one to five words.",
    ),
    Instruction(
        r"twice",
        "List four different things that the passage states and that a quiz could ask for: who, when, how many, "
        "what it is called. Copy the words and separate them by semicolons.",
    ),
)

TEACHING = Teaching(
    ("keyphrases",),
    only(KeyphrasesGold),
    "Copy the phrases that are worth asking about, separated by semicolons.",
    as_it_stands(_shown),
)
COMPILING = Compiling(STEP, examples, worth, INSTRUCTIONS, deviation=0.34, teaching=TEACHING, gold=KeyphrasesGold)
