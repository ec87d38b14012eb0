"""Values of options of a run, as they are read from texts, files and traces."""

import re
from pathlib import Path
from typing import Any

from groundset.privacy import without_secrets
from groundset.programs.errors import InputError
from groundset.programs.text import one_line
from groundset.programs.untrusted import MAX_ROW, small_text
from groundset.tracking import SQLITE, Tracking

_LONGEST, _MOST_LINES = 500, 1_000  # characters of a persona or query, and lines of a file of them
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_TRACES = re.compile(r"[a-z][a-z0-9+.-]+://[^\s#]*#.+", re.IGNORECASE)
_ASKED = ("question", "query", "input", "prompt", "message")  # names of inputs


def parse_mix(value: Any) -> Any:
    """Parse weights such as ``simple=50,reasoning=25``; return anything but text unchanged.

    Raises:
        ValueError: the text has another form.
    """
    if not isinstance(value, str):
        return value
    weights: dict[str, str] = {}
    for part in value.split(","):
        name, sign, weight = (piece.strip() for piece in part.partition("="))
        if not sign or name in weights:
            raise ValueError(
                f"{part.strip()!r} is not of the form NAME=WEIGHT, each name once, such as simple=2"
            )
        weights[name] = weight
    return weights


def read_texts(value: Any) -> Any:
    """Return texts, also those in .txt files (one a line), and the newest that traces asked; other
    types are left to the field.
    """
    items = [value] if isinstance(value, str | Path) else value
    is_listed = isinstance(items, list | tuple)
    if not is_listed or not all(isinstance(item, str | Path) for item in items):
        return value
    texts = list(map(_text, items))
    lines = (" ".join(line.split()) for text in texts for line in text.split("\n"))
    unique = tuple(dict.fromkeys(filter(None, lines)))
    is_wrong = any(len(line) > _LONGEST or _CONTROL.search(line) for line in unique)
    if is_wrong or len(unique) > _MOST_LINES:
        raise ValueError(
            f"give at most {_MOST_LINES:,} lines of plain text of at most {_LONGEST} characters"
        )
    if items and not unique:
        raise ValueError("is empty; write one text a line")
    return unique


def _text(item: str | Path) -> str:
    """Return the texts that an item is or names, one a line."""
    if names_traces(item):
        asked = dict.fromkeys(questions_of_traces(str(item)))
        newest = [text for text in asked if len(text) <= _LONGEST][:_MOST_LINES]
        return "\n".join(sorted(newest))  # the same for a run that goes on
    if str(item).endswith(".txt"):
        return small_text(Path(item).expanduser(), MAX_ROW)
    return str(item)


def names_traces(source: str | Path) -> bool:
    """Return whether a source of questions is an experiment of a store: ``URI#EXPERIMENT``."""
    return bool(_TRACES.fullmatch(str(source)))


def questions_of_traces(source: str) -> list[str]:
    """Return what the newest traces of an experiment asked, from ``URI#EXPERIMENT``, the newest
    first; of those of one millisecond MLflow tells no order.

    Raises:
        InputError: there is no such experiment, or nothing that its traces asked.
        TrackingError: the store failed.
    """
    uri, _, experiment = source.partition("#")
    file = Path(uri.removeprefix(SQLITE))
    if uri.startswith(SQLITE) and not file.is_file():  # MLflow would make it
        raise InputError(f"{source}: there is no database {file}")
    inputs = Tracking(uri).inputs_of_traces(experiment)
    found = list(filter(None, map(_question, inputs)))
    if not found:
        raise InputError(
            f"{without_secrets(source)}: no trace has a question among the inputs of its root span"
        )
    return found


def _question(inputs: Any) -> str:
    """Return what inputs of a root span ask, on one line; nothing if that is not plain, or of a
    later turn, whose question may not stand alone.
    """
    match inputs:
        case str():
            return one_line("".join(each if each.isprintable() else " " for each in inputs))
        case {"messages": [*turns]}:
            said = [turn for turn in turns if isinstance(turn, dict)]
            users = [turn for turn in said if turn.get("role") == "user"]
            return _question(users[0].get("content")) if len(users) == 1 else ""
        case dict():
            texts = [inputs[name] for name in _ASKED if isinstance(inputs.get(name), str)]
            return _question(texts[0]) if texts else ""
    return ""
