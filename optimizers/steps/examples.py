"""Examples built from labels and gold rows for compiling steps.

An example has the signature's inputs, the outputs that its row contains, and ``id``, ``split``, ``document``,
``passage``, ``language`` and ``explanation`` for metrics and records. It is in the split of its document.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import Any, NamedTuple, TypeVar

import dspy

from optimizers.gold import ComparedGold, GoldRow, PassagesGold
from optimizers.labels import SPLITS, AnsweredLabel, ChunkLabel, QuestionLabel, Split
from optimizers.steps.base import Compiling, Row, Rows, Source
from programs.focus import choose_foci
from programs.language_detection import language_of
from programs.languages.table import Languages
from programs.steps.combine import numbered_texts
from programs.text import plain
from programs.types import Focus

_Gold = TypeVar("_Gold", bound=GoldRow)
_Several = TypeVar("_Several", bound=PassagesGold)


class Examples(NamedTuple):
    """The examples of a step by split: ``demos`` have outputs, ``inputs`` may lack them."""

    demos: dict[Split, list[dspy.Example]]
    inputs: dict[Split, list[dspy.Example]]


def source_of(
    chunks: Sequence[ChunkLabel],
    questions: Sequence[QuestionLabel],
    gold: Sequence[GoldRow],
    texts: Mapping[str, str],
    languages: Languages,
) -> Source:
    """Build the source of examples; ``texts`` holds the text of each chunk by its id."""

    @cache  # most passages occur in a chunk and several questions
    def foci(passage: str, topic: str) -> list[Focus]:
        language = languages.of(passage)
        syntax, parses = languages.syntax_of(language), languages.parse is not None
        return choose_foci(passage, topic, language, syntax=syntax, easy_forms=not parses)

    return Source(chunks, questions, languages, foci, gold, texts)


def examples_of(compiling: Compiling, source: Source, *, seed: int = 0) -> Examples:
    """Return the examples of a step in an order that the seed fixes."""
    demos, inputs = compiling.examples(source)
    parts: list[dict[Split, list[dspy.Example]]] = []
    for rows in (demos, inputs):
        by_split: dict[Split, list[dspy.Example]] = {"train": [], "dev": [], "test": []}
        for split, example in rows:
            by_split[split].append(example)
        for kept in by_split.values():
            random.Random(seed).shuffle(kept)
        parts.append(by_split)
    return Examples(*parts)


def passages_of(source: Source) -> list[str]:
    """Return all passages of labels and gold rows, for the search index."""
    labelled = [*(label.text for label in source.chunks), *(label.passage for label in source.questions)]
    return [*labelled, *filter(None, (row.passage_in(source.texts) for row in source.gold))]


def gold_with_passages(source: Source, kind: type[_Gold]) -> Iterator[tuple[_Gold, str]]:
    """Yield the gold rows of a kind that have a passage, with the passage."""
    for row in source.gold_of(kind):
        if text := row.passage_in(source.texts):
            yield row, plain(text)


def numbered_passages(source: Source, kind: type[_Several]) -> Iterator[tuple[_Several, list[str], str]]:
    """Yield the gold rows whose chunks are all known, with their passages as a list and as the text of a prompt."""
    for row in source.gold_of(kind):
        if all(chunk in source.texts for chunk in row.chunks):
            passages = [plain(source.texts[chunk]) for chunk in row.chunks]
            yield row, passages, numbered_texts(list(zip(map(clean_topic, row.topics), passages, strict=True)))


def example_row(
    row: ChunkLabel | QuestionLabel | AnsweredLabel | GoldRow,
    passage: str,
    inputs: dict[str, Any],
    *,
    number: int = 0,
    **more: Any,
) -> Row:
    """Build an example from a row; ``number`` distinguishes the examples of one row."""
    if isinstance(row, GoldRow):
        context = {"language": row.language, "explanation": ""}
    else:
        context = {"language": language_of(passage), "explanation": row.explanation}
    origin = {"id": f"{row.id}/{number}", "split": row.split, "document": row.sources[0]}
    example = dspy.Example(**{"passage": passage, **context, **inputs, **more, **origin})
    return row.split, example.with_inputs(*inputs)


def without_repeats(*parts: Rows) -> Rows:
    """Return the rows of all parts without repeated questions about the same document."""
    distinct: dict[tuple[str, str], Row] = {}
    for split, example in chain(*parts):
        distinct.setdefault((example.document, example.question.casefold()), (split, example))
    return list(distinct.values())


def clean_topic(topic: str) -> str:
    """Return a topic without repeated headings, as the chunks of a run have it."""
    return " > ".join(dict.fromkeys(part.strip() for part in topic.split(" > ")))


def good_chunks(source: Source) -> Iterator[tuple[ChunkLabel, str, list[Focus]]]:
    """Yield the good chunks that have foci, with their passage and foci."""
    for label in source.chunks:
        if label.good:
            passage = plain(label.text)
            if foci := source.foci(passage, label.topic):
                yield label, passage, foci


def answered_questions(source: Source) -> Iterator[tuple[QuestionLabel, str, Focus]]:
    """Yield good questions whose correct answer is in a sentence of the passage, with passage and focus."""
    for label in source.questions:
        if not (label.good and label.question.endswith("?") and label.answer and label.answer.label == "correct"):
            continue
        passage, answer = plain(label.passage), label.answer.text.rstrip(".")
        language = source.languages.of(passage)
        sentence = next((text for text in language.sentences(passage) if answer in text), None)
        if sentence is not None:
            opening = language.opening(answer)
            opening = opening if label.question.startswith(opening) else ""
            yield label, passage, Focus(sentence=sentence, answer=answer, opening=opening)


def comparison_examples(source: Source, kind: type[ComparedGold], output: str) -> tuple[Rows, Rows]:
    """Return equal numbers of gold pairs with the decisions yes and no."""
    rows = [
        example_row(row, " ".join(row.inputs.values()), row.inputs, fit=row.good, **{output: row.good})
        for row in source.gold_of(kind)
    ]
    kept = balanced(rows, lambda example: bool(example.fit))
    return kept, kept


def balanced(rows: Rows, true: Callable[[dspy.Example], bool], others: float = 0.5) -> Rows:
    """Subsample each split evenly so that a share of ``others`` is not true."""
    kept: Rows = []
    for split in SPLITS:
        both = [[row for row in rows if row[0] == split and true(row[1]) is wanted] for wanted in (True, False)]
        whole = min(len(part) / share for part, share in zip(both, (1 - others, others), strict=True))
        for part, share in zip(both, (1 - others, others), strict=True):
            count = int(whole * share)
            kept += [part[index * len(part) // count] for index in range(count)]
    return kept
