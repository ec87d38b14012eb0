"""Values of options of a run, as they are read from texts and files."""

import re
from pathlib import Path
from typing import Any

from groundset.programs.untrusted import MAX_ROW, small_text
from groundset.tracking import names_traces, questions_of_traces

_DEAREST = 1e9  # price of a million tokens
_LONGEST, _MOST_LINES = 500, 1_000  # characters of a persona or query, and lines of a file of them
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def parse_mix(value: Any) -> Any:
    """Parse weights such as ``simple=50,reasoning=25``; return anything but text unchanged.

    Raises:
        ValueError: the text has another form.
    """
    if not isinstance(value, str):
        return value
    weights: dict[str, float] = {}
    for part in value.split(","):
        name, sign, weight = (piece.strip() for piece in part.partition("="))
        if not sign or name in weights:
            raise ValueError(
                f"{part.strip()!r} is not of the form NAME=WEIGHT, each name once, such as simple=2"
            )
        try:
            weights[name] = float(weight)
        except ValueError:
            raise ValueError(f"the weight of {name} is not a number: {weight!r}") from None
    return weights


def read_texts(value: Any) -> Any:
    """Return texts, also those in .txt files (one a line), and the newest that traces asked; other
    types are left to the field.
    """
    items = [value] if isinstance(value, str | Path) else value
    if not isinstance(items, list | tuple):
        return value
    if not all(isinstance(item, str | Path) for item in items):
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
        return "\n".join([text for text in asked if len(text) <= _LONGEST][:_MOST_LINES])
    if str(item).endswith(".txt"):
        return small_text(Path(item).expanduser(), MAX_ROW)
    return str(item)


def prices(text: str) -> tuple[float, float]:
    """Return the prices of a million prompt tokens and a million generated tokens, from a text such
    as ``0.5,1.5``.

    Raises:
        ValueError: the text has another form, or a number is negative or too large.
    """
    try:
        prompt, generated = map(float, text.split(","))
    except ValueError:
        prompt = generated = -1.0
    if not (0 <= prompt <= _DEAREST and 0 <= generated <= _DEAREST):
        raise ValueError(
            "give the prices of a million prompt and generated tokens, such as 0.5,1.5"
        )
    return prompt, generated
