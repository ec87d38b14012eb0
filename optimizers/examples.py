"""Examples of the steps, made from labels and gold rows.

An example has the inputs and, as far as its row tells, the outputs of its step. Beside them it has
``id``, ``split``, ``document``, ``language`` and ``group``; one of a step that decides also
``good``, and ``fault``, the output that is wrong.
"""

import random
from collections import defaultdict
from collections.abc import Collection, Iterable
from functools import cache
from itertools import zip_longest
from typing import Any

import dspy

from groundset.optimizers.labels import (
    NOT_STATED,
    ChunkLabel,
    GoldRow,
    Label,
    QuestionLabel,
    Row,
)
from groundset.programs.step import STEPS
from groundset.programs.text import plain

_plain = cache(plain)  # a passage occurs in many rows
_SURE, _UNSURE = 95, 5  # confidence of an editor that a good and a bad row is kept
# What tells about a row rather than its step.
_FACTS = {*Row.model_fields, "step"}


def examples(step: str, rows: Iterable[Row]) -> list[dspy.Example]:
    """Return the examples of a step that rows give, of all splits; rows that give none are ignored.

    Raises:
        KeyError: there is no such step.
    """
    signature = STEPS[step].signature
    decisions = _decisions(step)
    made = []
    for row in rows:
        values = _values(step, row)
        if not values:
            continue
        inputs = [name for name in signature.input_fields if name in values]
        if decisions:
            wrong = [name for name in decisions if not values[name]]
            values |= {"good": not wrong, "fault": "".join(wrong[:1])}
        facts = row.model_dump(include={"id", "split", "language"})
        facts |= {"document": row.sources[0], "group": step}
        made.append(dspy.Example(**{**facts, **values}).with_inputs(*inputs))
    return made


def _decisions(step: str) -> list[str]:
    outputs = STEPS[step].signature.output_fields
    return [name for name, field in outputs.items() if field.annotation is bool]


def _values(step: str, row: Row) -> dict[str, Any]:
    """Return what a row says of a step; nothing if it is about another one."""
    if isinstance(row, GoldRow):
        return row.model_dump(exclude_unset=True, exclude=_FACTS) if row.step == step else {}
    if isinstance(row, ChunkLabel) and step == "score":
        return {"passage": _plain(row.text), **_labelled(step, row)}
    if not isinstance(row, QuestionLabel) or step not in ("judge", "answer", "grounding"):
        return {}
    answer = row.answer
    right = answer.text if answer and answer.label == "correct" else ""
    values: dict[str, Any] = {"passage": _plain(row.passage), "question": row.question}
    if step == "grounding":
        if answer is None or not row.good:
            return {}
        return values | {"answer": answer.text, "grounded": bool(right), "group": answer.label}
    if step == "judge":
        values |= _labelled(step, row)
        if row.good:
            values["reason"] = row.why.said  # what is explained is no fault of the question
        if values["answerable"] and right:
            values["answer"] = right
        elif not values["answerable"]:
            values["answer"] = NOT_STATED
        return values
    # One in six is "not stated": compiled on more, a model refused good questions.
    values["topic"] = _topic(row.topic)
    if row.reason == "unanswerable":
        return values | {"answer": NOT_STATED, "group": NOT_STATED}
    return values | {"answer": right, "group": row.language} if row.good and right else {}


def _labelled(step: str, row: Label) -> dict[str, Any]:
    """Return the decisions of a label."""
    return {
        "topic": _topic(row.topic),
        "reason": row.explanation or row.why.said,
        "group": row.reason,
        **{name: name != row.why.fault for name in _decisions(step)},
        "confidence": _SURE if row.good else _UNSURE,
    }


def _topic(topic: str) -> str:
    """Return a topic without repeated headings, as chunks of a run have it."""
    return " > ".join(dict.fromkeys(part.strip() for part in topic.split(" > ")))


def spread(
    rows: Iterable[dspy.Example], *, seed: int = 0, first: Collection[str] = ()
) -> list[dspy.Example]:
    """Return shuffled examples with good and bad ones, and within these their groups, in turn, as
    long as both last; those with the ids in ``first`` before others of their kind.

    What optimizers take from the front is then balanced; labels have three bad rows for a good one.
    """
    rows = list(rows)
    shuffled = random.Random(seed).sample(rows, len(rows))
    parts = [
        sorted(_in_turn(part), key=lambda row: row.id not in first)
        for _, part in sorted(_by(shuffled, "good").items(), reverse=True)
    ]
    return [row for turn in zip(*parts, strict=False) for row in turn]


def _by(rows: Iterable[dspy.Example], name: str) -> dict[str, list[dspy.Example]]:
    groups = defaultdict(list)
    for row in rows:
        groups[str(row.get(name))].append(row)
    return groups


def _in_turn(rows: Iterable[dspy.Example]) -> list[dspy.Example]:
    turns = zip_longest(*(group for _, group in sorted(_by(rows, "group").items())))
    return [row for turn in turns for row in turn if row is not None]


def is_complete(step: str, example: dspy.Example) -> bool:
    """Return whether an example has all outputs of its step, so that it can be a whole demo."""
    return all(name in example for name in STEPS[step].signature.output_fields)
