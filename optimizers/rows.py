"""Reading and validating JSONL files of labels and gold rows."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from pydantic import ValidationError

from programs.errors import InputError, LabelError
from programs.untrusted import numbered_lines


class Annotated(Protocol):
    """A label or gold row.

    Attributes:
        key: the unique pair of id and annotation pass.
        sources: the source documents.
        split: the split of the source documents.
    """

    @property
    def key(self) -> tuple[str, int]: ...  # noqa: D102

    @property
    def sources(self) -> tuple[str, ...]: ...  # noqa: D102

    @property
    def split(self) -> str: ...  # noqa: D102


_Row = TypeVar("_Row", bound=Annotated)


class Problem(NamedTuple):
    """A problem of a file; ``line`` counts from 1, 0 is the file as a whole."""

    file: Path
    line: int
    message: str

    def __str__(self) -> str:
        """Return file, line and message in one line."""
        line = f", line {self.line}" if self.line else ""
        return f"{self.file}{line}: {self.message}"


def valid_rows(
    files: Sequence[Path], parse: Callable[[dict[str, Any]], _Row | str | None]
) -> tuple[list[_Row], list[Problem]]:
    """Return the valid rows, in order, and the problems of the others.

    ``parse`` returns the row of a JSON object, an error message, or None to ignore it. Repeated ids and documents in
    two splits are detected across all files.

    Raises:
        LabelError: a file cannot be read at all.
    """
    valid: list[_Row] = []
    problems: list[Problem] = []
    seen: dict[tuple[str, int], str] = {}
    splits: dict[str, str] = {}
    for file in files:
        empty = True
        for line, value in _json_lines(file, problems):
            empty = False
            row = parse(value) if isinstance(value, dict) else "not a JSON object"
            if row is None:
                continue
            if isinstance(row, str):
                problems.append(Problem(file, line, row))
                continue
            if row.key in seen:
                problems.append(Problem(file, line, f"id {row.key[0]} is already used in {seen[row.key]}"))
                continue
            seen[row.key] = f"{file.name}, line {line}"
            leaks = [name for name in row.sources if splits.setdefault(name, row.split) != row.split]
            if leaks:
                message = f"document {leaks[0]} is in two splits: {splits[leaks[0]]} and {row.split}"
                problems.append(Problem(file, line, message))
                continue
            valid.append(row)
        if empty:
            problems.append(Problem(file, 0, "no rows"))
    return valid, problems


def raise_first(problems: Sequence[Problem]) -> None:
    """Raise an error for the first problem, if there are any.

    Raises:
        LabelError: names the first problem.
    """
    if problems:
        more = f"; `groundset labels check` lists all {len(problems)} problems" if len(problems) > 1 else ""
        raise LabelError(f"{problems[0]}{more}")


def first_problem(error: ValidationError) -> str:
    """Return the first validation error of a row as `key: message`."""
    first = error.errors(include_url=False)[0]
    key = ".".join(str(part) for part in first["loc"])
    message = "unknown key" if first["type"] == "extra_forbidden" else str(first["msg"])
    message = message.removeprefix("Value error, ")
    message = message[:1].lower() + message[1:]
    return f"{key}: {message}" if key else message


def _json_lines(file: Path, problems: list[Problem]) -> Iterator[tuple[int, Any]]:
    try:
        for number, line in numbered_lines(file):
            if not line.strip():
                continue
            try:
                yield number, json.loads(line.decode())
            except (ValueError, RecursionError):
                problems.append(Problem(file, number, "not valid JSON in UTF-8"))
    except InputError as error:
        raise LabelError(str(error)) from error
    except OSError as error:
        raise LabelError(f"{file}: {error.strerror or error}") from error
