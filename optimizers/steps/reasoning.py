"""Compiling the step ``reasoning``: names in good chunks, and kinds of thing that the passage speaks of."""

from typing import Any

import dspy

from optimizers.steps.base import Compiling, Instruction, Judges, Rows, Scored, Source
from optimizers.steps.examples import example_row
from optimizers.steps.worth import STRAY
from programs.languages.base import Link
from programs.steps.reasoning import STEP
from programs.text import plain


def examples(source: Source) -> tuple[Rows, Rows]:
    """Return the names that a sentence of a good chunk says something of."""
    rows: Rows = []
    for label in (label for label in source.chunks if label.good):
        passage = plain(label.text)
        syntax = source.languages.syntax_of(source.languages.of(passage))
        for linked in syntax.predicates(passage, label.topic) if syntax else ():
            asked = {"topic": label.topic, "fact": linked.sentence, "name": linked.name}
            rows.append(example_row(label, passage, asked, number=len(rows)))
    return [], rows


def worth(example: dspy.Example, output: Any, judges: Judges) -> Scored:
    """Return 1 for a usable kind of thing that the passage names, 0.5 for one that it does not, 0 for none.

    A kind is usable if a description can be made of it: one to three words in lower case.
    """
    kind, language = str(output.kind), judges.language_of(example)
    syntax, link = judges.languages.syntax_of(language), Link(example.name, example.fact, "stands there")
    if syntax is None or syntax.describe(f"What is {example.name}?", link, kind) is None:
        return Scored(0.0, f"{kind!r} is no kind of thing in one to three words.")
    named = set(language.content_words(kind)) & set(language.content_words(example.passage))
    return Scored(1.0, "") if named else Scored(STRAY, f"The passage does not speak of any {kind}.")


INSTRUCTIONS = (
    Instruction(r"no kind of thing", "Name the kind of thing in one common noun, such as bridge, painter or statute."),
    Instruction(
        r"does not speak",
        "Say what the named thing is, with the word that the fact itself uses for it: one or two words in lower case.",
    ),
    Instruction(r"", "Complete in one or two words: the named thing is a kind of"),
)

COMPILING = Compiling(STEP, examples, worth, INSTRUCTIONS, deviation=0.12)
