"""Compiling the step ``keyphrases``: good chunks, and phrases that stand in them word for word."""

from typing import Any

import dspy

from optimizers.steps.base import Compiling, Instruction, Judges, Rows, Scored, Source
from optimizers.steps.examples import example_row, good_chunks, placed
from programs.steps.keyphrases import STEP

_PHRASES = range(3, 6)


def examples(source: Source) -> tuple[Rows, Rows]:
    """Return good chunks to try on; labels hold no phrases to show."""
    return [], [example_row(label, passage, placed(label, passage)) for label, passage, _ in good_chunks(source)]


def worth(example: dspy.Example, output: Any, judges: Judges) -> Scored:
    """Return the share of phrases that stand in the passage word for word, once each, less one third for each of
    three that are lacking."""
    del judges
    phrases = [str(phrase) for phrase in output.keyphrases]
    distinct = {phrase.casefold(): phrase for phrase in phrases}
    stated = [phrase for phrase in distinct.values() if phrase and phrase in example.passage]
    if not phrases:
        return Scored(0.0, "It names no phrase.")
    value = len(stated) / len(phrases) * min(1.0, len(stated) / _PHRASES.start)
    lost = [phrase for phrase in distinct.values() if phrase not in stated]
    told = [f"Not in the passage word for word: {'; '.join(lost)}."] if lost else []
    if len(distinct) < len(phrases):
        told.append("It names a phrase twice.")
    if len(phrases) not in _PHRASES:
        told.append(f"It names {len(phrases)} phrases; three to five are wanted.")
    return Scored(value, " ".join(told))


INSTRUCTIONS = (
    Instruction(
        r"word for word",
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

COMPILING = Compiling(STEP, examples, worth, INSTRUCTIONS, deviation=0.26)
