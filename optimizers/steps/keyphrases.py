"""Compiling the step ``keyphrases``: good chunks and verbatim phrases of them."""

from collections.abc import Iterator
from typing import Any, Literal

import dspy
from pydantic import Field

from optimizers.gold import SingleChunkGold, Text, contains
from optimizers.steps.base import Compiling, Finetuning, Instruction, Judges, Rows, Scored, Source
from optimizers.steps.examples import clean_topic, example_row, good_chunks
from optimizers.steps.worth import STRAY
from programs.languages.base import Language
from programs.steps.keyphrases import STEP
from programs.text import has_words, plain, tokens


class KeyphrasesGold(SingleChunkGold):
    """Three to five phrases of a passage that could answer good questions, the best first."""

    step: Literal["keyphrases"]
    topic: str
    passage: Text
    keyphrases: tuple[Text, ...] = Field(min_length=3, max_length=5)

    def _problems(self) -> Iterator[str]:
        for index, phrase in enumerate(self.keyphrases):
            if not contains(self.passage, phrase):
                yield f"the phrase is not in the passage: {phrase}"
            if any(phrase in other for other in self.keyphrases[:index] + self.keyphrases[index + 1 :]):
                yield f"the phrase is part of another one: {phrase}"


_PHRASES = range(3, 6)
_LONGEST = 6  # words of a phrase; longer ones count as sentences


def examples(source: Source) -> tuple[Rows, Rows]:
    """Return the passages of gold rows with their phrases as demos; inputs also include good chunks."""
    demos: Rows = []
    for row in source.gold_of(KeyphrasesGold):
        inputs = _inputs(row)
        demos.append(example_row(row, inputs["passage"], inputs, keyphrases=list(row.keyphrases)))
    passages = {example.passage for _, example in demos}
    labelled = [
        example_row(label, passage, {"topic": label.topic, "passage": passage})
        for label, passage, _ in good_chunks(source)
        if passage not in passages
    ]
    return demos, [*demos, *labelled]


def _inputs(row: KeyphrasesGold) -> dict[str, str]:
    return {"topic": clean_topic(row.topic), "passage": plain(row.passage)}


def metric(example: dspy.Example, output: Any, judges: Judges) -> Scored:
    """Return the share of phrases that are in the passage verbatim, less one third for each of three that are missing.

    Single lower-case words count half, stop words and sentences 0; a part of another phrase counts as a repetition.
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
    scores = {phrase: _phrase_score(phrase, language) for phrase in stated}
    counted = sum(scores.values())
    value = counted / len(phrases) * min(1.0, counted / _PHRASES.start)
    lost = [phrase for phrase in distinct if phrase not in stated]
    feedback = [f"Not in the passage word for word: {'; '.join(lost)}."] if lost else []
    if empty := [phrase for phrase, score in scores.items() if not score]:
        feedback.append(f"No name, date, amount or term: {'; '.join(empty)}.")
    if len(distinct) < len(phrases):
        feedback.append("It names a phrase twice.")
    if len(phrases) not in _PHRASES:
        feedback.append(f"It names {len(phrases)} phrases; three to five are wanted.")
    return Scored(value, " ".join(feedback))


def _phrase_score(phrase: str, language: Language) -> float:
    """Return 1 for names and multi-word terms, :data:`STRAY` for one plain word, 0 for stop words and sentences."""
    content = language.content_words(phrase)
    if not content or len(tokens(phrase)) > _LONGEST:
        return 0.0
    return 1.0 if len(content) > 1 or not phrase.islower() else STRAY


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

FINETUNING = Finetuning.on_gold(
    KeyphrasesGold, "keyphrases", "Copy the phrases that are worth asking about, separated by semicolons.", _inputs
)
COMPILING = Compiling(STEP, examples, metric, INSTRUCTIONS, deviation=0.34, finetuning=FINETUNING, gold=KeyphrasesGold)
