"""Adapted prompts: the instructions and demos of a step for questions in a requested language."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import dspy

from programs.demos import LANGUAGE
from programs.languages.names import name_of

Translate = Callable[[Sequence[str]], Sequence[str] | None]

_ENGLISH = "en"
# The fields of demos that are in the language of the question; passages and quotes keep theirs.
_TEXTS = frozenset({
    "question", "answer", "asked_already", "questions", "new_question", "new_answer", "short_question",
    "better_question", "answered_question", "follow_up", "stand_alone_question", "wording", "wordings", "options",
    "clues", "clue", "example", "description",
})  # fmt: skip
_KEPT = frozenset({"", "none", "not stated"})  # completions that steps recognise in English


class Prompt(NamedTuple):
    """The instructions and demos of a step."""

    instructions: str
    demos: list[Any]


def writes_questions(signature: type[dspy.Signature]) -> bool:
    """Return whether a step writes questions or answers."""
    return not _TEXTS.isdisjoint(signature.output_fields)


def adapt(predict: dspy.Predict, language: str, translate: Translate) -> Prompt:
    """Return the prompt of a predictor for questions and answers in a language, whatever language passages are in.

    Demos with a passage in the language stay as they are. In English ones, question and answer are translated; if that
    fails for all of them, they stay English.

    Args:
        predict: the predictor.
        language: the code of the language.
        translate: returns the translation of some lines, None if there is none.
    """
    given = " ".join(predict.signature.instructions.split())
    name = name_of(language)
    instructions = (
        f"{given} Write questions and answers in {name}, also where the passage is in another language. Copy words of "
        "the passage as they stand where evidence is wanted."
    )
    demos = [demo for demo in predict.demos if demo.get(LANGUAGE, language) == language]
    if language == _ENGLISH:
        return Prompt(instructions, demos)
    english = [demo for demo in predict.demos if demo.get(LANGUAGE) == _ENGLISH]
    translated = [_translated(demo, translate) for demo in english]
    adapted = [demo for demo in translated if demo is not None]
    return Prompt((translate([instructions]) or [instructions])[0], [*demos, *(adapted or english)])


def _translated(demo: Mapping[str, Any], translate: Translate) -> dspy.Example | None:
    """Return a demo with its question and answer translated; None without a translation."""
    lines = list(dict.fromkeys(_lines_in(dict(demo))))
    written = translate(lines) if lines else []
    return None if written is None else dspy.Example(**_replaced(dict(demo), dict(zip(lines, written, strict=True))))


def _lines_in(fields: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts of a demo that are to be translated, each as one line."""
    for name, value in fields.items():
        for item in (value if isinstance(value, list) else [value]) if name in _TEXTS else ():
            if not isinstance(item, str):
                yield from _lines_in(dict(item))
            elif item not in _KEPT:
                yield " ".join(item.split())


def _replaced(fields: Mapping[str, Any], lines: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields of a demo with its texts replaced."""

    def replace(value: Any) -> Any:
        if isinstance(value, list):
            return [replace(item) for item in value]
        return lines.get(" ".join(value.split()), value) if isinstance(value, str) else _replaced(dict(value), lines)

    return {name: replace(value) if name in _TEXTS else value for name, value in fields.items()}
