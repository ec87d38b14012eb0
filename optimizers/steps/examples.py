"""What steps are compiled on: inputs made from labelled rows, and demos where the labels hold an output.

Rows keep the split of their document. An example carries the signature's inputs, the outputs that a label gives, and
``id``, ``split``, ``document``, ``passage``, ``language`` and ``explanation`` for metrics and records.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import dspy

from optimizers.labels import SPLITS, ChunkLabel, QuestionLabel, Split
from optimizers.steps.base import Compiling, Row, Rows, Source
from programs.focus import choose_foci
from programs.language import language_of
from programs.languages.table import Languages
from programs.text import plain
from programs.types import Focus


class Examples(NamedTuple):
    """The examples of a step: ``demos`` have their outputs, ``inputs`` need not; both by split."""

    demos: dict[Split, list[dspy.Example]]
    inputs: dict[Split, list[dspy.Example]]


def examples_of(
    compiling: Compiling,
    chunks: Sequence[ChunkLabel],
    questions: Sequence[QuestionLabel],
    languages: Languages,
    *,
    seed: int = 0,
) -> Examples:
    """Return the examples of a step in an order that the seed fixes; ``languages`` are those of runs."""

    @cache  # most passages come as a chunk and with several questions
    def foci(passage: str, topic: str) -> list[Focus]:
        language = languages.of(passage)
        syntax, parses = languages.syntax_of(language), languages.parse is not None
        return choose_foci(passage, topic, language, syntax=syntax, easy_forms=not parses)

    demos, inputs = compiling.examples(Source(chunks, questions, languages, foci))
    found: list[dict[Split, list[dspy.Example]]] = []
    for rows in (demos, inputs):
        by_split: dict[Split, list[dspy.Example]] = {"train": [], "dev": [], "test": []}
        for split, example in rows:
            by_split[split].append(example)
        for kept in by_split.values():
            random.Random(seed).shuffle(kept)
        found.append(by_split)
    return Examples(*found)


def example_row(label: ChunkLabel | QuestionLabel, passage: str, asked: dict[str, str], **more: Any) -> Row:
    """Return an example whose inputs are ``asked``; ``number`` tells the examples of one label apart."""
    carried = {"passage": passage, "language": language_of(passage), "explanation": label.explanation}
    named = {"id": f"{label.id}/{more.pop('number', 0)}", "split": label.split, "document": label.document}
    example = dspy.Example(**{**carried, **asked, **more, **named})
    return label.split, example.with_inputs(*asked)


def topic_once(topic: str) -> str:
    """Return the topic of an annotated row as a run's chunks have it: annotated ones name some headings twice."""
    return " > ".join(dict.fromkeys(part.strip() for part in topic.split(" > ")))


def placed(label: ChunkLabel | QuestionLabel, passage: str) -> dict[str, str]:
    """Return a passage with the topic that it stands under, as inputs."""
    return {"topic": label.topic, "passage": passage}


def good_chunks(source: Source) -> Iterator[tuple[ChunkLabel, str, list[Focus]]]:
    """Yield good chunks with their passage and its foci, those without any left out."""
    for label in source.chunks:
        if label.good:
            passage = plain(label.text)
            if foci := source.foci(passage, label.topic):
                yield label, passage, foci


def answered(source: Source) -> Iterator[tuple[QuestionLabel, str, Focus]]:
    """Yield good questions, well closed, whose correct answer stands in a sentence of the passage."""
    for label in source.questions:
        if not (label.good and label.question.endswith("?") and label.answer and label.answer.label == "correct"):
            continue
        passage, answer = plain(label.passage), label.answer.text.rstrip(".")
        language = source.languages.of(passage)
        holding = [sentence for sentence in language.sentences(passage) if answer in sentence]
        if holding:
            begins = language.opening(answer)
            begins = begins if label.question.startswith(begins) else ""
            yield label, passage, Focus(sentence=holding[0], answer=answer, opening=begins)


def balanced(rows: Rows, true: Callable[[dspy.Example], bool], others: float = 0.5) -> Rows:
    """Return the rows of each split so that ``others`` of them are not true, spread over the file."""
    kept: Rows = []
    for split in SPLITS:
        both = [[row for row in rows if row[0] == split and true(row[1]) is wanted] for wanted in (True, False)]
        whole = min(len(part) / share for part, share in zip(both, (1 - others, others), strict=True))
        for part, share in zip(both, (1 - others, others), strict=True):
            count = int(whole * share)
            kept += [part[place * len(part) // count] for place in range(count)]
    return kept
