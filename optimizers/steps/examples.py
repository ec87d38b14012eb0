"""What steps are compiled on: inputs made from labels and gold rows, and demos where either holds an output.

Rows keep the split of their document. An example carries the signature's inputs, the outputs that its row gives, and
``id``, ``split``, ``document``, ``passage``, ``language`` and ``explanation`` for metrics and records.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import Any, NamedTuple, TypeVar

import dspy

from optimizers.gold_rows import ComparedGold, GoldRow
from optimizers.labels import SPLITS, AnsweredLabel, ChunkLabel, QuestionLabel, Split
from optimizers.steps.base import Compiling, Row, Rows, Source
from programs.focus import choose_foci
from programs.language_detection import language_of
from programs.languages.table import Languages
from programs.text import plain
from programs.types import Focus

_Gold = TypeVar("_Gold", bound=GoldRow)


class Examples(NamedTuple):
    """The examples of a step: ``demos`` have their outputs, ``inputs`` need not; both by split."""

    demos: dict[Split, list[dspy.Example]]
    inputs: dict[Split, list[dspy.Example]]


def source_of(
    chunks: Sequence[ChunkLabel],
    questions: Sequence[QuestionLabel],
    gold: Sequence[GoldRow],
    texts: Mapping[str, str],
    languages: Languages,
) -> Source:
    """Return what examples are made from; ``texts`` holds the text of each chunk by its id."""

    @cache  # most passages come as a chunk and with several questions
    def foci(passage: str, topic: str) -> list[Focus]:
        language = languages.of(passage)
        syntax, parses = languages.syntax_of(language), languages.parse is not None
        return choose_foci(passage, topic, language, syntax=syntax, easy_forms=not parses)

    return Source(chunks, questions, languages, foci, gold, texts)


def examples_of(compiling: Compiling, source: Source, *, seed: int = 0) -> Examples:
    """Return the examples of a step in an order that the seed fixes."""
    demos, inputs = compiling.examples(source)
    found: list[dict[Split, list[dspy.Example]]] = []
    for rows in (demos, inputs):
        by_split: dict[Split, list[dspy.Example]] = {"train": [], "dev": [], "test": []}
        for split, example in rows:
            by_split[split].append(example)
        for kept in by_split.values():
            random.Random(seed).shuffle(kept)
        found.append(by_split)
    return Examples(*found)


def passages_of(source: Source) -> list[str]:
    """Return every passage that a question of the examples may be searched in, as it stands in its row."""
    labelled = [*(label.text for label in source.chunks), *(label.passage for label in source.questions)]
    return [*labelled, *filter(None, (row.passage_in(source.texts) for row in source.gold))]


def of_gold(source: Source, kind: type[_Gold]) -> Iterator[tuple[_Gold, str]]:
    """Yield the gold rows of a kind with their passage, those without any left out."""
    for row in source.gold_of(kind):
        if text := row.passage_in(source.texts):
            yield row, plain(text)


def example_row(
    row: ChunkLabel | QuestionLabel | AnsweredLabel | GoldRow,
    passage: str,
    asked: dict[str, Any],
    *,
    number: int = 0,
    **more: Any,
) -> Row:
    """Return an example whose inputs are ``asked``; ``number`` tells the examples of one row apart."""
    if isinstance(row, GoldRow):
        carried = {"language": row.language, "explanation": ""}
    else:
        carried = {"language": language_of(passage), "explanation": row.explanation}
    named = {"id": f"{row.id}/{number}", "split": row.split, "document": row.sources[0]}
    example = dspy.Example(**{"passage": passage, **carried, **asked, **more, **named})
    return row.split, example.with_inputs(*asked)


def asked_once(*parts: Rows) -> Rows:
    """Return the rows of all parts, of those that ask the same about the same document only the first."""
    found: dict[tuple[str, str], Row] = {}
    for split, example in chain(*parts):
        found.setdefault((example.document, example.question.casefold()), (split, example))
    return list(found.values())


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


def compared(source: Source, kind: type[ComparedGold], output: str) -> tuple[Rows, Rows]:
    """Return as many pairs of texts that say the same as pairs that do not, to be shown and to try on."""
    rows = [
        example_row(row, " ".join(row.inputs.values()), row.inputs, fit=row.good, **{output: row.good})
        for row in source.gold_of(kind)
    ]
    kept = balanced(rows, lambda example: bool(example.fit))
    return kept, kept


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
