"""What each step is compiled on: inputs made from labelled rows, and demos where the labels hold an output.

Rows keep the split of their document. An example carries the signature's inputs, the outputs that a label gives, and
``id``, ``split``, ``passage``, ``language`` and ``explanation`` for metrics and records.
"""

import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import dspy

from optimizers.faults import FAULTS
from optimizers.labels import SPLITS, ChunkLabel, QuestionLabel, Split
from programs.answers import opening
from programs.conditions import condition_in
from programs.evidence import plain, sentences
from programs.focus import choose_foci
from programs.language import language_of
from programs.linking import predicates
from programs.steps.compress import SHORT_WORDS
from programs.steps.feedback import OBJECTIONS
from programs.types import Focus, Parse
from programs.words import tokens

NOT_STATED = "not stated"
# Few, because whoever always says "not stated" would else beat a model that answers: a step compiled on equal parts
# did so in a run, and refused 25 good questions of 25.
_UNANSWERABLE = 0.2
_LONG = SHORT_WORDS - 4  # labelled questions are short: those a little below the limit are shortened too
# What a rewrite can mend, by the output of the critic that says so; a question without an answer stays one.
_MENDABLE = {reason: output for output in ("independent", "clear") for reason in FAULTS["judge"][output]}


class Examples(NamedTuple):
    """The examples of a step: ``demos`` have their outputs, ``inputs`` need not; both by split."""

    demos: dict[Split, list[dspy.Example]]
    inputs: dict[Split, list[dspy.Example]]


class _Source(NamedTuple):
    chunks: Sequence[ChunkLabel]
    questions: Sequence[QuestionLabel]
    parse: Parse | None
    foci: Callable[[str, str], list[Focus]]  # of a passage with its topic


def examples_of(
    step: str,
    chunks: Sequence[ChunkLabel],
    questions: Sequence[QuestionLabel],
    *,
    seed: int = 0,
    parse: Parse | None = None,
) -> Examples:
    """Return the examples of a step in an order that the seed fixes; ``parse`` is what runs read syntax with."""

    @cache  # most passages come as a chunk and with several questions
    def foci(passage: str, topic: str) -> list[Focus]:
        return choose_foci(passage, topic, language_of(passage), (), parse)

    demos, inputs = _MAKERS[step](_Source(chunks, questions, parse, foci))
    found: list[dict[Split, list[dspy.Example]]] = []
    for rows in (demos, inputs):
        by_split: dict[Split, list[dspy.Example]] = {"train": [], "dev": [], "test": []}
        for split, example in rows:
            by_split[split].append(example)
        for kept in by_split.values():
            random.Random(seed).shuffle(kept)
        found.append(by_split)
    return Examples(*found)


Row = tuple[Split, dspy.Example]
Rows = list[Row]


def _example(label: ChunkLabel | QuestionLabel, passage: str, asked: dict[str, str], **more: Any) -> Row:
    """Return an example whose inputs are ``asked``."""
    carried = {"passage": passage, "language": language_of(passage), "explanation": label.explanation}
    named = {"id": f"{label.id}/{more.pop('number', 0)}", "split": label.split}
    example = dspy.Example(**{**carried, **asked, **more, **named})
    return label.split, example.with_inputs(*asked)


def _good_chunks(source: _Source) -> Iterator[tuple[ChunkLabel, str, list[Focus]]]:
    for label in source.chunks:
        if label.good:
            passage = plain(label.text)
            if foci := source.foci(passage, label.topic):
                yield label, passage, foci


def _answered(source: _Source) -> Iterator[tuple[QuestionLabel, str, Focus]]:
    """Yield good questions, well closed, whose correct answer stands in a sentence of the passage."""
    for label in source.questions:
        if not (label.good and label.question.endswith("?") and label.answer and label.answer.label == "correct"):
            continue
        passage, answer = plain(label.passage), label.answer.text.rstrip(".")
        language = language_of(passage)
        holding = [sentence for sentence in sentences(passage, language) if answer in sentence]
        if holding:
            begins = opening(answer, language)
            begins = begins if label.question.startswith(begins) else ""
            yield label, passage, Focus(sentence=holding[0], answer=answer, opening=begins)


def _as_asked(source: _Source) -> Iterator[tuple[QuestionLabel, str, Focus]]:
    """Yield good questions with the focus that a run would ask them about, with the opening that it would hand over.

    Those that it would not ask are left out where there is a parser for their language: their openings are others.
    """
    for label, passage, focus in _answered(source):
        if source.parse is None or not source.parse.reads(language_of(passage)):
            yield label, passage, focus
            continue
        foci = source.foci(passage, label.topic)
        asked = [each for each in foci if each.answer == focus.answer and label.question.startswith(each.opening)]
        if asked:
            yield label, passage, asked[0]


def _keyphrases(source: _Source) -> tuple[Rows, Rows]:
    return [], [_example(label, passage, _placed(label, passage)) for label, passage, _ in _good_chunks(source)]


def _question(source: _Source) -> tuple[Rows, Rows]:
    def asked(label: ChunkLabel | QuestionLabel, focus: Focus) -> dict[str, str]:
        return {"topic": label.topic, "fact": focus.fact, "answer": focus.answer, "opening": focus.opening}

    demos = [
        _example(label, passage, asked(label, focus), focus=focus, question=label.question)
        for label, passage, focus in _as_asked(source)
    ]
    inputs = [
        _example(label, passage, asked(label, focus), focus=focus, number=number)
        for label, passage, foci in _good_chunks(source)
        for number, focus in enumerate([focus for focus in foci if focus.easy] or foci[:1])
    ]
    return demos, inputs


def _reasoning(source: _Source) -> tuple[Rows, Rows]:
    rows: Rows = []
    for label in (label for label in source.chunks if label.good):
        passage = plain(label.text)
        for linked in predicates(passage, label.topic, language_of(passage), source.parse):
            asked = {"topic": label.topic, "fact": linked.sentence, "name": linked.name}
            rows.append(_example(label, passage, asked, number=len(rows)))
    return [], rows


def _conditional(source: _Source) -> tuple[Rows, Rows]:
    """Pair good questions with the first condition that a sentence of their passage states."""
    rows: Rows = []
    for label in source.questions:
        if not label.good:
            continue
        passage = plain(label.passage)
        language = language_of(passage)
        foci = [Focus(sentence=sentence, answer="-") for sentence in sentences(passage, language)]
        found = (condition_in(focus, label.question, language) for focus in foci)
        if condition := next((condition for condition in found if condition), None):
            asked = {"topic": label.topic, "question": label.question, "condition": condition.text}
            rows.append(_example(label, passage, asked))
    return [], rows


def _compress(source: _Source) -> tuple[Rows, Rows]:
    long = [label for label in source.questions if label.good and len(tokens(label.question)) > _LONG]
    return [], [_example(label, plain(label.passage), {"question": label.question}) for label in long]


def _rewrite(source: _Source) -> tuple[Rows, Rows]:
    """Pair a refused question with a good one about the same passage that shares most of its words."""
    answered: dict[str, list[tuple[QuestionLabel, Focus]]] = defaultdict(list)
    for good, passage, focus in _answered(source):
        answered[passage].append((good, focus))
    rows: Rows = []
    for label in source.questions:
        passage = plain(label.passage)
        if label.reason not in _MENDABLE or not answered[passage]:
            continue
        words = set(tokens(label.question))
        good, focus = max(answered[passage], key=lambda pair: len(words & set(tokens(pair[0].question))))
        asked = {
            "topic": label.topic,
            "fact": focus.fact,
            "answer": focus.answer,
            "question": label.question,
            "feedback": label.explanation or OBJECTIONS[_MENDABLE[label.reason]],
        }
        rows.append(_example(label, passage, asked, focus=focus, better_question=good.question))
    return rows, rows


def _answer(source: _Source) -> tuple[Rows, Rows]:
    rows: Rows = []
    for label in source.questions:
        passage = plain(label.passage)
        correct = label.good and label.answer is not None and label.answer.label == "correct"
        if correct or label.reason == "unanswerable":
            told = label.answer.text if correct and label.answer else NOT_STATED
            asked = {**_placed(label, passage), "question": label.question}
            rows.append(_example(label, passage, asked, answer=told))
    kept = _balanced(rows, lambda example: example.answer != NOT_STATED, others=_UNANSWERABLE)
    return kept, kept


def _chunk(source: _Source) -> tuple[Rows, Rows]:
    rows = [
        _example(label, plain(label.text), _placed(label, plain(label.text)), fit=label.good) for label in source.chunks
    ]
    balanced = _balanced(rows, lambda example: example.fit)
    return balanced, balanced


def _judge(source: _Source) -> tuple[Rows, Rows]:
    rows: Rows = []
    for label in source.questions:
        asked = {"passage": plain(label.passage), "question": label.question}
        rows.append(_example(label, asked["passage"], asked, fit=label.good))
    balanced = _balanced(rows, lambda example: example.fit)
    return balanced, balanced


def _placed(label: ChunkLabel | QuestionLabel, passage: str) -> dict[str, str]:
    return {"topic": label.topic, "passage": passage}


def _balanced(rows: Rows, true: Callable[[dspy.Example], bool], others: float = 0.5) -> Rows:
    """Return the rows of each split so that ``others`` of them are not true, spread over the file."""
    kept: Rows = []
    for split in SPLITS:
        both = [[row for row in rows if row[0] == split and true(row[1]) is wanted] for wanted in (True, False)]
        whole = min(len(part) / share for part, share in zip(both, (1 - others, others), strict=True))
        for part, share in zip(both, (1 - others, others), strict=True):
            count = int(whole * share)
            kept += [part[place * len(part) // count] for place in range(count)]
    return kept


_MAKERS: dict[str, Callable[[_Source], tuple[Rows, Rows]]] = {
    "keyphrases": _keyphrases,
    "question": _question,
    "reasoning": _reasoning,
    "conditional": _conditional,
    "compress": _compress,
    "rewrite": _rewrite,
    "answer": _answer,
    "chunk": _chunk,
    "judge": _judge,
}
STEPS = tuple(_MAKERS)
