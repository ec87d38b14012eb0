"""Compiling the step ``reasoning``: names in good chunks, and kinds of thing that the passage speaks of."""

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Any, Literal

import dspy

from optimizers.gold_rows import GoldOfOneChunk, Question, Text, given_away, not_within, unchanged
from optimizers.steps.base import Compiling, Instruction, Judges, Rows, Scored, Source
from optimizers.steps.examples import example_row
from optimizers.steps.worth import STRAY
from programs.languages.base import Language, Link
from programs.steps.reasoning import STEP
from programs.text import has_words, plain, tokens


class ReasoningGold(GoldOfOneChunk):
    """A question about the second fact that needs the first one too; a ``derived`` answer stands in neither."""

    step: Literal["reasoning"]
    topic: str
    facts: tuple[Text, Text]
    name: Text
    question: Question
    answer: Text
    derived: bool
    reasoning_question: Question
    kind: Literal["bridge", "compare", "sum", "order", "consequence"]

    def _faults(self) -> Iterator[str]:
        yield from unchanged(self.question, self.reasoning_question)
        if self.kind != "compare":
            yield from given_away(self.answer, self.reasoning_question)
        if not self.derived:
            yield from not_within(self.answer, self.facts[1])


_BETWEEN = 2  # words between what links a name to its kind, and the kind


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
    """Return 1 for a kind of thing that the passage says of the name, 0.5 for one that its topic or a sentence with the
    name speaks of, 0.25 for any other word of the passage, 0 for what a run refuses.

    A run refuses what no description can be made of (it takes one to three words in lower case), and kinds that neither
    topic nor passage speaks of.
    """
    kind, language = str(output.kind), judges.language_of(example)
    syntax, link = judges.languages.syntax_of(language), Link(example.name, example.fact, "stands there")
    if syntax is None or syntax.describe(f"What is {example.name}?", link, kind) is None:
        return Scored(0.0, f"{kind!r} is no kind of thing in one to three words.")
    wanted = language.content_words(kind)
    sentences = [sentence for sentence in language.sentences(example.passage) if has_words(sentence, example.name)]
    if any(_is_said_of(wanted, example.name, text, language) for text in (example.topic, example.fact, *sentences)):
        return Scored(1.0, "")
    feedback = f"The passage does not say that {example.name} is a {kind}."
    for value, texts in ((STRAY, (example.topic, example.fact, *sentences)), (STRAY / 2, (example.passage,))):
        if set(wanted) & set(language.content_words(" ".join(texts))):
            return Scored(value, feedback)
    return Scored(0.0, f"The passage does not speak of any {kind}.")


def _is_said_of(kind: Sequence[str], name: str, text: str, language: Language) -> bool:
    """Return whether a name ends with its kind, or a text has the kind right before the name, or after it and a
    function word or more ("X is a stone bridge", "X, the engineer"), with at most two words between."""
    named = [_carried(token, language) for token in tokens(name)]
    if not kind or not named:
        return False
    if named[-1] == kind[-1]:
        return True
    words = [_carried(token, language) for token in tokens(text)]
    for place in range(len(words) - len(named) + 1):
        if words[place : place + len(named)] != named:
            continue
        if place and words[place - 1] == kind[-1]:
            return True
        after = words[place + len(named) :]
        linked = list(takewhile(lambda word: not word, after))
        if linked and kind[-1] in after[len(linked) : len(linked) + _BETWEEN + 1]:
            return True
    return False


def _carried(token: str, language: Language) -> str:
    """Return the stem of a word that carries meaning, nothing for others."""
    return next(iter(language.content_words(token)), "")


INSTRUCTIONS = (
    Instruction(r"no kind of thing", "Name the kind of thing in one common noun, such as bridge, painter or statute."),
    Instruction(
        r"does not s(?:peak|ay)",
        "Say what the named thing is, with the word that the fact itself uses for it: one or two words in lower case.",
    ),
    Instruction(r"", "Complete in one or two words: the named thing is a kind of"),
)

COMPILING = Compiling(STEP, examples, worth, INSTRUCTIONS, deviation=0.12, gold=ReasoningGold)
