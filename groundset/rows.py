"""Read and validate rows of untrusted files; every row comes with its file and line for messages."""

import json
import math
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from programs.errors import InputError
from programs.untrusted import MAX_NAME, MAX_TEXT, numbered_lines, small_text

Row = tuple[str, Mapping[str, Any]]
# Pydantic parses JSON up to a depth of 200, and runs store metadata several levels down.
_MAX_DEPTH = 100
_MAX_HEADINGS = 100  # HTML knows six levels
_NAMES = ("path", "title", "evolution", "language", "split", "document_id")


def jsonl_rows(file: Path) -> Iterator[Row]:
    """Yield the objects of a file of JSON lines; blank lines are skipped.

    Raises:
        InputError: a line is not a JSON object, or too long; the message names it.
        OSError: the file cannot be read.
    """
    for number, line in numbered_lines(file):
        if not line.strip():
            continue
        where = f"{file}, line {number}"
        fields = _parse(where, line)
        if not isinstance(fields, dict):
            raise InputError(f"{where}: not a JSON object")
        yield where, fields


def array_rows(file: Path, most: int) -> Iterator[Row]:
    """Yield the objects of a JSON array in a file of at most ``most`` bytes.

    Raises:
        InputError: it is not an array of objects, or too long; the message names the file.
        OSError: the file cannot be read.
    """
    rows = _parse(str(file), small_text(file, most).encode())
    if not isinstance(rows, list):
        raise InputError(f"{file}: not a JSON array")
    for number, fields in enumerate(rows, 1):
        if not isinstance(fields, dict):
            raise InputError(f"{file}, row {number}: not a JSON object")
        yield f"{file}, row {number}", fields


def _parse(where: str, text: bytes) -> Any:
    try:
        value = json.loads(text.decode())
        json.dumps(value, ensure_ascii=False).encode()  # fails for lone surrogates such as "\ud800"
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: not UTF-8 text") from error
    except UnicodeError as error:
        raise InputError(f"{where}: not valid Unicode text") from error
    except RecursionError as error:
        raise InputError(f"{where}: nested too deep") from error
    except ValueError as error:
        raise InputError(f"{where}: not JSON ({error})") from error
    return value


def required(where: str, fields: Mapping[str, Any], *names: str) -> str:
    """Return the text in the first named column that has a value; an id may be a number.

    Raises:
        InputError: there is no valid text; the message begins with ``where``.
    """
    name = next((name for name in names if fields.get(name) is not None), names[0])
    value = fields.get(name)
    if isinstance(value, int) and name.endswith("id") and not isinstance(value, bool):
        value = str(value)
    if value is None:
        raise InputError(f"{where}: column {name} is missing")
    if not isinstance(value, str):
        raise InputError(f"{where}, column {name}: must be text, not {type(value).__name__}")
    if not value.strip():
        raise InputError(f"{where}, column {name}: is empty")
    most = MAX_NAME if name.endswith("id") or name in _NAMES else MAX_TEXT
    check_length(f"{where}, column {name}", value, most)
    return value


def optional(where: str, fields: Mapping[str, Any], name: str) -> str | None:
    """Return the text in a column, None if it is missing or blank; see :func:`required`."""
    value = fields.get(name)
    is_blank = value is None or (isinstance(value, str) and not value.strip())
    return None if is_blank else required(where, fields, name)


def check_length(where: str, text: str, most: int = MAX_TEXT) -> None:
    """Raise an InputError if a text has more than ``most`` characters."""
    if len(text) > most:
        raise InputError(f"{where}: longer than {most:,} characters")


def headings_of(where: str, fields: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the texts in ``headings``, empty if there is no such column."""
    headings = fields.get("headings") or []
    if not isinstance(headings, list) or not all(isinstance(heading, str) for heading in headings):
        raise InputError(f"{where}, column headings: must be a list of texts")
    if len(headings) > _MAX_HEADINGS:
        raise InputError(f"{where}, column headings: more than {_MAX_HEADINGS}")
    check_length(f"{where}, column headings", "".join(headings), MAX_NAME)
    return tuple(headings)


def span_of(where: str, fields: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return the offsets in ``start_end_idx``, or in ``start`` and ``end``, or None."""
    span = fields.get("start_end_idx")
    if span is None and None not in (fields.get("start"), fields.get("end")):
        span = [fields["start"], fields["end"]]
    if span is None:
        return None
    if not isinstance(span, list) or len(span) != 2 or not all(isinstance(offset, int) for offset in span):
        raise InputError(f"{where}, column start_end_idx: must be two whole numbers")
    return span[0], span[1]


def metadata_of(where: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the object in ``metadata`` with JSON values, empty if it is missing."""
    metadata = fields.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        raise InputError(f"{where}, column metadata: must be an object, not {type(metadata).__name__}")
    if _is_nested(metadata, _MAX_DEPTH):
        raise InputError(f"{where}, column metadata: nested more than {_MAX_DEPTH} deep")
    # Parquet has dates and other types that JSON lacks.
    as_json = json.dumps(metadata or {}, ensure_ascii=False, default=plain_value)
    check_length(f"{where}, column metadata", as_json)
    plain: dict[str, Any] = json.loads(as_json)
    return plain


def is_missing(value: object) -> bool:
    """Return whether a cell of a table has no value: None or NaN."""
    return value is None or (isinstance(value, float) and not math.isfinite(value))


def _is_nested(value: object, depth: int) -> bool:
    """Return whether objects and lists are nested more than ``depth`` deep."""
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else None
    return inner is not None and (depth == 0 or any(_is_nested(value, depth - 1) for value in inner))


def plain_value(value: object) -> str:
    """Return a value without a JSON type as text."""
    return value.isoformat() if isinstance(value, datetime) else str(value)
