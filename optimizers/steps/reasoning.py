"""Compiling the step ``reasoning``: names in good chunks, and the kind of thing that each name is."""

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Any, Literal

import dspy

from optimizers.gold import Question, SingleChunkGold, Text, answer_not_in_fact, reveals_answer, unchanged
from optimizers.steps.base import Compiling, Instruction, Judges, Rows, Scored, Source
from optimizers.steps.examples import example_row
from optimizers.steps.worth import STRAY
from programs.languages.base import Language, Link
from programs.steps.reasoning import STEP
from programs.text import has_words, plain, tokens


class ReasoningGold(SingleChunkGold):
    """A question about the second fact that also needs the first; a ``derived`` answer is in neither."""

    step: Literal["reasoning"]
    topic: str
    facts: tuple[Text, Text]
    name: Text
    question: Question
    answer: Text
    derived: bool
    reasoning_question: Question
    kind: Literal["bridge", "compare", "sum", "order", "consequence"]

    def _problems(self) -> Iterator[str]:
        yield from unchanged(self.question, self.reasoning_question)
        if self.kind != "compare":
            yield from reveals_answer(self.reasoning_question, self.answer)
        if not self.derived:
            yield from answer_not_in_fact(self.answer, self.facts[1])


_BETWEEN = 2  # words allowed between the linking words and the kind


def examples(source: Source) -> tuple[Rows, Rows]:
    """Return the names in good chunks that are linked to a predicate."""
    rows: Rows = []
    for label in (label for label in source.chunks if label.good):
        passage = plain(label.text)
        syntax = source.languages.syntax_of(source.languages.of(passage))
        for linked in syntax.predicates(passage, label.topic) if syntax else ():
            inputs = {"topic": label.topic, "fact": linked.sentence, "name": linked.name}
            rows.append(example_row(label, passage, inputs, number=len(rows)))
    return [], rows


def metric(example: dspy.Example, output: Any, judges: Judges) -> Scored:
    """Return 1 if the passage says that the name is of this kind, else a lower score by where the word occurs.

    It is 0.5 for a word of the topic or of a sentence with the name, 0.25 for another word of the passage, and 0 for
    kinds that a run rejects: other words, and kinds that are not one to three words in lower case.
    """
    kind, language = str(output.kind), judges.language_of(example)
    syntax, link = judges.languages.syntax_of(language), Link(example.name, example.fact, "stands there")
    if syntax is None or syntax.describe(f"What is {example.name}?", link, kind) is None:
        return Scored(0.0, f"{kind!r} is no kind of thing in one to three words.")
    words = language.content_words(kind)
    sentences = [sentence for sentence in language.sentences(example.passage) if has_words(sentence, example.name)]
    if any(_is_kind_of(words, example.name, text, language) for text in (example.topic, example.fact, *sentences)):
        return Scored(1.0, "")
    feedback = f"The passage does not say that {example.name} is a {kind}."
    for value, texts in ((STRAY, (example.topic, example.fact, *sentences)), (STRAY / 2, (example.passage,))):
        if set(words) & set(language.content_words(" ".join(texts))):
            return Scored(value, feedback)
    return Scored(0.0, f"The passage does not speak of any {kind}.")


def _is_kind_of(kind: Sequence[str], name: str, text: str, language: Language) -> bool:
    """Return whether a text says that a name is of a kind: "Stone Bridge", "the engineer X", "X is a stone bridge"."""
    named = [_content_stem(token, language) for token in tokens(name)]
    if not kind or not named:
        return False
    if named[-1] == kind[-1]:
        return True
    words = [_content_stem(token, language) for token in tokens(text)]
    for index in range(len(words) - len(named) + 1):
        if words[index : index + len(named)] != named:
            continue
        if index and words[index - 1] == kind[-1]:
            return True
        after = words[index + len(named) :]
        linked = list(takewhile(lambda word: not word, after))
        if linked and kind[-1] in after[len(linked) : len(linked) + _BETWEEN + 1]:
            return True
    return False


def _content_stem(token: str, language: Language) -> str:
    """Return the stem of a content word, empty for stop words."""
    return next(iter(language.content_words(token)), "")


INSTRUCTIONS = (
    Instruction(r"no kind of thing", "Name the kind of thing in one common noun, such as bridge, painter or statute."),
    Instruction(
        r"does not s(?:peak|ay)",
        "Say what the named thing is, with the word that the fact itself uses for it: one or two words in lower case.",
    ),
    Instruction(r"", "Complete in one or two words: the named thing is a kind of"),
)

COMPILING = Compiling(STEP, examples, metric, INSTRUCTIONS, deviation=0.12, gold=ReasoningGold)
