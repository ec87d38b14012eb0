"""The default few-shot demos of the steps, read from a folder of ``<step>.jsonl``."""

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import dspy
from pydantic import TypeAdapter, ValidationError

from programs.errors import DemoError
from programs.steps import STEPS
from programs.steps.base import Step
from programs.untrusted import numbered_lines

Demos = Mapping[str, list[dspy.Example]]

LANGUAGE, EXPLANATION = "language", "explanation"


def read_demos(folder: Path) -> Demos:
    """Return the demos in a folder by step, in the order of each file's rows.

    A row is a JSON object with the fields of the step's signature and its ``language`` (ISO 639-1); of a step that
    decides, also the ``explanation`` of the decision.

    Raises:
        DemoError: the folder is missing, a file is not named after a step, or a row does not fit its step.
    """
    if not folder.is_dir():
        raise DemoError(f"{folder}: not a folder of demos")
    found: dict[str, list[dspy.Example]] = {}
    for file in sorted(folder.glob("*.jsonl")):
        if file.stem not in STEPS:
            raise DemoError(f"{file}: no step is called {file.stem}")
        found[file.stem] = _read(file, STEPS[file.stem])
    return found


def in_language(demos: list[dspy.Example], language: str) -> list[dspy.Example]:
    """Return the demos in one language and those without a language; if there are none, the English ones."""
    chosen = [demo for demo in demos if demo.get(LANGUAGE, language) == language]
    return chosen or [demo for demo in demos if demo.get(LANGUAGE) == "en"]


def in_style(demos: list[dspy.Example], inputs: Mapping[str, Any]) -> list[dspy.Example]:
    """Return the demos in the style of the inputs; all if there are none, or if no style is asked for.

    The words before the colon name a style; small models imitate a demo in another style.
    """
    name = _style_name(inputs)
    return [demo for demo in demos if name and _style_name(demo) == name] or demos


def _style_name(fields: Mapping[str, Any]) -> str:
    return str(fields.get("style") or "").partition(":")[0]


def _read(file: Path, step: Step) -> list[dspy.Example]:
    demos = []
    for number, line in numbered_lines(file):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DemoError(f"{file}, line {number}: not valid JSON in UTF-8") from error
        if problem := _row_error(row, step):
            raise DemoError(f"{file}, line {number}: {problem}")
        demos.append(dspy.Example(**row))
    return demos


def _row_error(row: Any, step: Step) -> str:
    """Return why a row cannot be a demo of a step; empty if it can."""
    if not isinstance(row, dict):
        return "not a JSON object"
    if not isinstance(row.get(LANGUAGE), str):
        return f"no {LANGUAGE}"
    if missing := [name for name, field in step.signature.fields.items() if name not in row and field.is_required()]:
        return f"no {missing[0]}"
    return demo_error(row, step.signature, (LANGUAGE, EXPLANATION) if step.decides else (LANGUAGE,))


def demo_error(row: Mapping[str, Any], signature: type[dspy.Signature], extras: Collection[str]) -> str:
    """Return why a row cannot be a demo of a signature; empty if it can.

    A demo may lack fields, and may have the fields named in ``extras``.
    """
    fields = signature.fields
    if unknown := sorted(row.keys() - fields.keys() - set(extras)):
        return f"its step has no field {unknown[0]}"
    for name, value in row.items():
        try:
            TypeAdapter(fields[name].annotation if name in fields else bool | str).validate_python(value, strict=True)
        except ValidationError as error:
            return f"{name}: {error.errors(include_url=False)[0]['msg']}"
    return ""
